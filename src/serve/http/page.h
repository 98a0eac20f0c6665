/* page.h: the files of the page as replies: uncompressed, compressed, or not modified. */
#ifndef SONDE_SERVE_HTTP_PAGE_H
#define SONDE_SERVE_HTTP_PAGE_H

#include "util/buf.h"

struct MHD_Response;

enum { SONDE_PAGE_FILES_MAX = 8 };

struct sonde_page {
	struct sonde_page_file {
		const char *path;
		struct sonde_buf packed;
		struct sonde_page_form {
			char tag[32];                 /* including quotes */
			struct MHD_Response *whole;   /* 200 */
			struct MHD_Response *nothing; /* 304 */
		} forms[2];                           /* plain, gzip */
	} files[SONDE_PAGE_FILES_MAX];
	size_t count;
	struct MHD_Response *enter; /* the first file, with a cookie; NULL = none */
};

/* `cookie`: a Set-Cookie header for clients that present the token; NULL = none. 0, or -ENOMEM with a message. */
int sonde_page_init(struct sonde_page *page, const char *cookie);
void sonde_page_fini(struct sonde_page *page);

const struct sonde_page_file *sonde_page_find(const struct sonde_page *page, const char *path);

/* Returns the reply, borrowed, for these request headers (NULL = not sent), and stores its status. */
struct MHD_Response *sonde_page_reply(const struct sonde_page_file *file, const char *accept_encoding,
				      const char *if_none_match, unsigned *status);

/* True if an Accept-Encoding header accepts gzip. */
int sonde_page_takes_gzip(const char *accept_encoding);

#endif
