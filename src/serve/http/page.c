/* page.c: prepares the three small files of the page as replies at start-up.
 *
 * Entity tags are hashes of the content, so that a browser that cached the page of another version of sonde requests
 * everything again.
 */
#include "serve/http/page.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "assets/assets.h"
#include "base/hash.h"
#include "export/gzip.h"
#include "serve/http/reply.h"
#include "util/error.h"

enum { PACKED_MAX_B = 64 << 20 };

/* Compresses the file into file->packed. */
static int pack(struct sonde_page_file *file, const struct sonde_asset *asset)
{
	char *data = NULL;
	size_t size_b = 0;
	struct sonde_gzip *gzip = NULL;
	FILE *stream = open_memstream(&data, &size_b);
	int rc = stream ? sonde_gzip_open(&gzip, stream) : -ENOMEM;
	if (!rc)
		rc = sonde_gzip_write(gzip, asset->data, asset->size_b);
	int closed = sonde_gzip_close(gzip);
	if (stream && fclose(stream))
		rc = -ENOMEM;
	sonde_buf_init(&file->packed, PACKED_MAX_B);
	if (!rc && !closed)
		rc = sonde_buf_append(&file->packed, data, size_b);
	free(data);
	return rc ? rc : closed;
}

static int form_make(struct sonde_page_form *form, const void *data, size_t size_b, const struct sonde_asset *asset,
		     const char *encoding)
{
	snprintf(form->tag, sizeof form->tag, "\"%016llx%s\"",
		 (unsigned long long)sonde_hash_bytes(asset->data, asset->size_b), encoding ? "-gz" : "");
	form->whole = sonde_reply_page(data, size_b, asset->type, encoding, form->tag);
	form->nothing = sonde_reply_page("", 0, asset->type, encoding, form->tag);
	return form->whole && form->nothing ? 0 : -ENOMEM;
}

static int file_make(struct sonde_page_file *file, const struct sonde_asset *asset)
{
	*file = (struct sonde_page_file){.path = asset->path};
	int rc = pack(file, asset);
	if (!rc)
		rc = form_make(&file->forms[0], asset->data, asset->size_b, asset, NULL);
	if (!rc)
		rc = form_make(&file->forms[1], file->packed.data, file->packed.len_b, asset, "gzip");
	return rc;
}

/* Makes the response that sets the cookie. It is never replaced by "not modified", because the cookie must arrive. */
static int enter_make(struct sonde_page *page, const char *cookie)
{
	const struct sonde_asset *asset = &sonde_assets[0];
	if (!cookie)
		return 0;
	for (size_t i = 0; i < sonde_asset_count; i++)
		if (strcmp(sonde_assets[i].path, "/") == 0)
			asset = &sonde_assets[i];
	page->enter = sonde_reply_page(asset->data, asset->size_b, asset->type, NULL, page->files[0].forms[0].tag);
	return page->enter && MHD_add_response_header(page->enter, "Set-Cookie", cookie) == MHD_YES ? 0 : -ENOMEM;
}

int sonde_page_init(struct sonde_page *page, const char *cookie)
{
	int rc = 0;
	*page = (struct sonde_page){0};
	for (size_t i = 0; i < sonde_asset_count && i < SONDE_PAGE_FILES_MAX && !rc; i++)
		rc = file_make(&page->files[page->count++], &sonde_assets[i]);
	if (!rc)
		rc = enter_make(page, cookie);
	if (!rc)
		return 0;
	sonde_page_fini(page);
	return sonde_error(ENOMEM, "out of memory for the page");
}

static void give_back(struct MHD_Response *reply)
{
	if (reply)
		MHD_destroy_response(reply);
}

void sonde_page_fini(struct sonde_page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		for (size_t k = 0; k < 2; k++) {
			give_back(page->files[i].forms[k].whole);
			give_back(page->files[i].forms[k].nothing);
		}
		sonde_buf_fini(&page->files[i].packed);
	}
	give_back(page->enter);
	*page = (struct sonde_page){0};
}

const struct sonde_page_file *sonde_page_find(const struct sonde_page *page, const char *path)
{
	for (size_t i = 0; i < page->count; i++)
		if (strcmp(page->files[i].path, path) == 0)
			return &page->files[i];
	return NULL;
}

/* True if the parameters of a coding ("; q=0.0") refuse it. */
static int is_zero(const char *words, size_t words_b)
{
	size_t at = 0;
	while (at < words_b && words[at] != '=')
		at++;
	if (at == words_b)
		return 0;
	for (at++; at < words_b; at++)
		if (words[at] >= '1' && words[at] <= '9')
			return 0;
	return 1;
}

int sonde_page_takes_gzip(const char *accept_encoding)
{
	const char *at = accept_encoding;
	while (at && *at) {
		at += strspn(at, " \t,");
		size_t all_b = strcspn(at, ","), name_b = strcspn(at, " \t;,");
		if (name_b == 4 && strncasecmp(at, "gzip", 4) == 0)
			return !is_zero(at + name_b, all_b - name_b);
		at += all_b;
	}
	return 0;
}

struct MHD_Response *sonde_page_reply(const struct sonde_page_file *file, const char *accept_encoding,
				      const char *if_none_match, unsigned *status)
{
	const struct sonde_page_form *form = &file->forms[sonde_page_takes_gzip(accept_encoding)];
	int is_same = if_none_match && strstr(if_none_match, form->tag);
	*status = is_same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK;
	return is_same ? form->nothing : form->whole;
}
