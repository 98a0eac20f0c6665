/* test_nvtx_abi.c: the numbers and layouts in inject/nvtx/abi.h equal NVIDIA's headers; built if these are
 * installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <nvtx3/nvToolsExt.h>

#include "inject/nvtx/abi.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is " #theirs)
#define SAME_PLACE(ours, theirs)                                                          \
	SAME(offsetof(struct nvtx_event, ours), offsetof(nvtxEventAttributes_t, theirs)); \
	SAME(sizeof(((struct nvtx_event *)0)->ours), sizeof(((nvtxEventAttributes_t *)0)->theirs))

SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_DOMAINS, NVTX_CB_MODULE_CORE2);
SAME(NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_ABI_VERSION, NVTX_VERSION);
SAME(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(NVTX_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
SAME(NVTX_CATEGORY_W, NVTX_CBID_CORE_NameCategoryW);
SAME(NVTX_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
SAME(NVTX_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
SAME(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_DOMAIN_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_DOMAIN_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_DOMAIN_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_DOMAIN_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_CATEGORY_A, NVTX_CBID_CORE2_DomainNameCategoryA);
SAME(NVTX_DOMAIN_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
SAME(NVTX_DOMAIN_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_DOMAIN_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
SAME(NVTX_COLOR_IS_ARGB, NVTX_COLOR_ARGB);
SAME(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_IS_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_PAYLOAD_UINT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(NVTX_PAYLOAD_UINT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME_PLACE(version, version);
SAME_PLACE(size, size);
SAME_PLACE(category, category);
SAME_PLACE(color_type, colorType);
SAME_PLACE(color, color);
SAME_PLACE(payload_type, payloadType);
SAME_PLACE(payload, payload);
SAME_PLACE(message_type, messageType);
SAME_PLACE(message, message);
SAME(sizeof(struct nvtx_event), sizeof(nvtxEventAttributes_t));
SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct nvtx_callbacks, module), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(sizeof(struct nvtx_version), sizeof(NvtxExportTableVersionInfo));
SAME(offsetof(struct nvtx_version, set_ours), offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
SAME(sizeof(uint64_t), sizeof(nvtxRangeId_t));

/* A structure filled through those headers is read as intended. */
static void their_events_are_ours(void **state)
{
	(void)state;
	nvtxEventAttributes_t theirs = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE, .category = 7};
	theirs.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	theirs.payload.dValue = 0.5;
	theirs.message.ascii = "text";
	struct nvtx_event ours;
	memcpy(&ours, &theirs, sizeof(ours));
	assert_int_equal(ours.size, 48);
	assert_int_equal(ours.category, 7);
	assert_true(ours.payload.real >= 0.5 && ours.payload.real <= 0.5);
	assert_string_equal(ours.message.ascii, "text");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(their_events_are_ours)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
