/* abi.h: the interface between NVTX (version 3, header-only, in the program) and an object that receives its calls:
 * numbers and layouts. tests/unit/device/test_nvtx_abi.c compares them with the headers if those are installed.
 *
 * At its first call the program loads the object named by NVTX_INJECTION64_PATH and calls its function
 * InitializeInjectionNvtx2 with a function that returns tables by number. One table leads to the program's function
 * pointers, module by module, which we set. Each library with NVTX in a program has its own copy of all that, and each
 * copy calls us.
 */
#ifndef SONDE_INJECT_NVTX_ABI_H
#define SONDE_INJECT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_NOT_TRACKED (-2) /* result of push and pop if levels are not tracked */
#define NVTX_ABI_VERSION 3u

enum nvtx_table_id { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };

enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_DOMAINS = 5 };

enum nvtx_core {
	NVTX_MARK_EX = 1,
	NVTX_MARK_A,
	NVTX_MARK_W,
	NVTX_START_EX,
	NVTX_START_A,
	NVTX_START_W,
	NVTX_END,
	NVTX_PUSH_EX,
	NVTX_PUSH_A,
	NVTX_PUSH_W,
	NVTX_POP,
	NVTX_CATEGORY_A,
	NVTX_CATEGORY_W,
	NVTX_THREAD_A,
	NVTX_THREAD_W,
};

enum nvtx_domains {
	NVTX_DOMAIN_MARK_EX = 1,
	NVTX_DOMAIN_START_EX,
	NVTX_DOMAIN_END,
	NVTX_DOMAIN_PUSH_EX,
	NVTX_DOMAIN_POP,
	NVTX_DOMAIN_CATEGORY_A = 8,
	NVTX_DOMAIN_CATEGORY_W,
	NVTX_DOMAIN_STRING_A,
	NVTX_DOMAIN_STRING_W,
	NVTX_DOMAIN_CREATE_A,
	NVTX_DOMAIN_CREATE_W,
	NVTX_DOMAIN_DESTROY,
};

typedef void (*nvtx_function)(void);
typedef const void *(*nvtx_tables)(uint32_t id);

struct nvtx_callbacks {
	size_t size_b;
	/* 1, or 0 for an unknown module. `functions`: addresses of the function pointers, by number; `count` of
	 * them. */
	int (*module)(uint32_t module, nvtx_function ***functions, unsigned *count);
};

struct nvtx_version {
	size_t size_b;
	uint32_t version, reserved;
	void (*set_ours)(uint32_t version);
};

enum nvtx_color { NVTX_COLOR_IS_ARGB = 1 };

enum nvtx_message {
	NVTX_MESSAGE_NONE = 0,
	NVTX_MESSAGE_ASCII = 1,
	NVTX_MESSAGE_WIDE = 2,
	NVTX_MESSAGE_IS_REGISTERED = 3
};

enum nvtx_payload {
	NVTX_PAYLOAD_NONE = 0,
	NVTX_PAYLOAD_UINT64 = 1,
	NVTX_PAYLOAD_INT64 = 2,
	NVTX_PAYLOAD_DOUBLE = 3,
	NVTX_PAYLOAD_UINT32 = 4,
	NVTX_PAYLOAD_INT32 = 5,
	NVTX_PAYLOAD_FLOAT = 6,
};

union nvtx_payload_value {
	uint64_t uint64;
	int64_t int64;
	double real;
	uint32_t uint32;
	int32_t int32;
	float single;
};

/* The attributes of an annotation; if `size` is less than ours, the fields beyond are missing. */
struct nvtx_event {
	uint16_t version, size;
	uint32_t category; /* 0 = none */
	int32_t color_type;
	uint32_t color; /* 0xAARRGGBB */
	int32_t payload_type, reserved;
	union nvtx_payload_value payload;
	int32_t message_type, padding;
	union {
		const char *ascii;
		const wchar_t *wide;
		const void *registered;
	} message;
};

_Static_assert(sizeof(struct nvtx_event) == 48 && offsetof(struct nvtx_event, payload) == 24 &&
		   offsetof(struct nvtx_event, message_type) == 32 && offsetof(struct nvtx_event, message) == 40,
	       "as NVTX lays it out");
_Static_assert(sizeof(struct nvtx_callbacks) == 16 && sizeof(struct nvtx_version) == 24, "as NVTX lays them out");

#endif
