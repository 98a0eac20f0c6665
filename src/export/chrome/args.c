/* args.c: the arguments of a zone or span: our own, next to those that the program set (export/args.h). */
#include <inttypes.h>
#include <stdio.h>

#include "export/chrome/event.h"

void sonde_chrome_own_key(struct sonde_chrome *chrome, const char *key)
{
	char text[SONDE_ARGS_OWN_B];
	sonde_json_key(&chrome->json, sonde_args_own(&chrome->annotations.args, key, text));
}

void sonde_chrome_put_args(struct sonde_chrome *chrome)
{
	const struct sonde_args *args = &chrome->annotations.args;
	for (size_t i = 0; i < args->count; i++) {
		struct sonde_track_arg arg = args->args[i];
		char text[SONDE_ARGS_OWN_B];
		if (i < args->ours)
			arg.key = sonde_args_own(args, arg.key, text);
		sonde_chrome_put_arg(&chrome->json, &arg);
	}
}

void sonde_chrome_object(struct sonde_chrome *chrome, uint32_t id)
{
	const struct sonde_object *object = sonde_session_object(chrome->session, id);
	char address[24];
	if (!object)
		return;
	snprintf(address, sizeof address, "0x%" PRIx64, object->address);
	if (*object->name || object->address)
		sonde_json_put_text(&chrome->json, "object", *object->name ? object->name : address);
}
