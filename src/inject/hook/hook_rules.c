/* hook_rules.c: the unwind rule of each return address: one row of a call-frame table, looked up once.
 *
 * The recorder compiles the tables and passes their cache files; each module is requested once. Rules are kept in a
 * hash table of the process, which is read without a lock. Adding a rule takes a lock. A signal handler that has
 * interrupted the owner of the lock adds no rule, and no thread does if the owner never releases the lock: an unwind
 * without a rule only yields a truncated stack.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "inject/hook/connect.h"
#include "inject/hook/machine.h"
#include "inject/hook/objects.h"
#include "inject/hook/rules.h"
#include "inject/hook/sandbox.h"
#include "inject/hook/thread.h"
#include "unwind/step.h"

#define FIRST_BITS 14u
#define MORE_BITS 17u
#define ROWS_MOST 16383u
#define SLOT_BITS 15
#define SLOTS (1u << SLOT_BITS)
#define MODULES 2048u
#define LISTED 1024u /* objects; if there are more, everything is forgotten */
#define GONE 64u
#define NO_CODE 1u /* an address that no call returns to */
#define WAIT_S 10
#define SPINS 100
#define REMAINDER_NS 1000000
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)
#define RESTS (2000 * WAIT_S) /* sleeps of at least 1 ms: in all, longer than the recorder may take to answer */

struct module {
	uint64_t start, end, bias;
	struct sonde_unwind_table table;
};

/* Lies in memory that reads as zeros in a forked child, as does the larger table of rules. */
struct known {
	_Atomic uint32_t lock; /* the tid of its owner */
	/* the lock was abandoned or the recorder is silent: no thread waits for the lock or asks the recorder any
	 * more */
	_Atomic uint32_t is_lost;
	uint32_t rule_count; /* from here on protected by the lock */
	uint32_t row_count;
	uint32_t module_count;
	struct module modules[MODULES];
	_Atomic uint32_t is_listing; /* true while a thread uses the list */
	struct inject_objects_range listed[LISTED];
	_Alignas(64) _Atomic uint64_t first[1u << FIRST_BITS]; /* read by all threads, like the rows */
	_Atomic uint64_t rows[ROWS_MOST + 1];                  /* used from [1] on */
	uint16_t slots[SLOTS];                                 /* hash index of the rows, by their contents */
};

static struct known *known;
_Atomic uintptr_t hook_rules;
_Atomic uint64_t *hook_rows;
_Atomic uint64_t hook_rules_generation;

int hook_rules_init(void)
{
	known = inject_connect_page(sizeof(*known));
	if (!known)
		return -1;
	hook_rows = known->rows;
	atomic_store(&hook_rules, (uintptr_t)known->first | FIRST_BITS);
	return 0;
}

/* The rule of a return address, or 0. */
static uint64_t look_up(uint64_t pc)
{
	uintptr_t rules = atomic_load_explicit(&hook_rules, memory_order_acquire);
	uint32_t mask = (1u << (rules & 63)) - 1;
	uint64_t rule;
	for (uint32_t at = hook_rules_home(rules, pc);; at = (at + 1) & mask) {
		rule = atomic_load_explicit(&hook_rules_table(rules)[at], memory_order_acquire);
		if (!rule || rule >> 16 == pc)
			break;
	}
	return rule ? atomic_load_explicit(&hook_rows[rule & 0xffff], memory_order_relaxed) : 0;
}

/* Takes the lock; 0 = not taken. Its owner holds it for long only while it asks the recorder. If `pc` is not 0, a
 * thread stops waiting once there is a rule for it, because thousands of threads may need the same rule at the same
 * time. */
static int try_lock(uint32_t tid, uint64_t pc)
{
	struct timespec remainder = {0, REMAINDER_NS};
	for (uint32_t tries = 0; tries < SPINS + RESTS && !atomic_load(&known->is_lost); tries++) {
		uint32_t owner = 0;
		if (pc && look_up(pc))
			return 0;
		if (atomic_compare_exchange_strong(&known->lock, &owner, tid))
			return 1;
		if (owner == tid)
			return 0;
		if (tries >= SPINS)
			inject_machine_call(SYS_nanosleep, (long)&remainder, 0, 0, 0, 0, 0);
	}
	atomic_store(&known->is_lost, 1);
	return 0;
}

static void unlock(void)
{
	atomic_store(&known->lock, 0);
}

void hook_rules_recover(const struct hook_thread *thread)
{
	uint32_t owner = (uint32_t)thread->tid;
	atomic_compare_exchange_strong(&known->lock, &owner, 0);
}

/* --- modules, under the lock ------------------------------------------------------------------------------------- */

static const struct module *find_module(uint64_t pc)
{
	for (uint32_t i = known->module_count; i-- > 0;)
		if (pc >= known->modules[i].start && pc < known->modules[i].end)
			return &known->modules[i];
	return NULL;
}

/* True if the process can spare address space for a table: twice the size of its file, since what is needed besides the
 * file is smaller than the file. */
static int is_spared(int fd)
{
	struct stat facts;
	return !fstat(fd, &facts) && inject_connect_spares(2 * (uint64_t)facts.st_size);
}

/* Removes the table's memory from forked children: in a child, `known` reads as zeros, so the child would never unmap
 * this table, and would map another one. */
static void keep_from_children(const struct sonde_unwind_table *table)
{
	inject_machine_call(SYS_madvise, (long)table->mapping, (long)table->mapping_b, MADV_DONTFORK, 0, 0, 0);
	if (table->pages && !table->has_pages)
		inject_machine_call(SYS_madvise, (long)table->pages, (long)(table->page_count * sizeof *table->pages),
				    MADV_DONTFORK, 0, 0, 0);
}

/* Maps a table that the recorder has sent as a sealed memory file, whose contents are trusted without a check. */
static int map_table(struct sonde_unwind_table *out, int fd, const struct sonde_link_table *answer)
{
	if (!is_spared(fd))
		return -ENOMEM;
	long seals = inject_machine_call(SYS_fcntl, fd, F_GET_SEALS, 0, 0, 0, 0);
	if (seals >= 0 && (seals & SEALS) == SEALS)
		return sonde_unwind_table_map_sealed(out, fd, answer->build_id, answer->build_id_b);
	return sonde_unwind_table_map(out, fd, answer->build_id, answer->build_id_b);
}

/* Asks the recorder which module is at `pc`; NULL if it knows none. A module may have no table. */
static const struct module *ask(uint64_t pc)
{
	struct sonde_link_table_question question = {.head = {SONDE_LINK_TABLE, SONDE_LINK_VERSION},
						     .pid = (uint32_t)inject_machine_pid(),
						     .client = SONDE_RUNTIME_CLIENT,
						     .address = pc};
	struct sonde_link_table answer = {.status = -EPROTO};
	int fd;
	if (known->module_count == MODULES)
		return NULL;
	int code = inject_connect_ask(&question, sizeof(question), &answer, sizeof(answer), &fd, WAIT_S);
	if (code == -EAGAIN) /* the recorder exists but is silent: do not ask again for each address */
		atomic_store(&known->is_lost, 1);
	if (code || answer.status || answer.start > pc || answer.end <= pc) {
		if (fd >= 0)
			inject_connect_close(fd);
		return NULL;
	}
	struct module *module = &known->modules[known->module_count++];
	*module = (struct module){.start = answer.start, .end = answer.end, .bias = answer.bias};
	if (fd >= 0) {
		if (!map_table(&module->table, fd, &answer))
			keep_from_children(&module->table);
		inject_connect_close(fd);
	}
	return module;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* Packs a row. The offset of an expression is left out: expressions are not evaluated here, since they are located
 * relative to their row in the table, and a packed row is a copy. */
static uint64_t pack(const struct sonde_unwind_row *row)
{
	int32_t cfa_off = row->kind == SONDE_UNWIND_EXPRESSION ? 0 : row->cfa_off;
	return (uint64_t)1 << 63 | (uint64_t)row->kind << 56 | (uint64_t)row->ra_slot << 48 |
	       (uint64_t)(uint16_t)row->fp_off << 32 | (uint32_t)cfa_off;
}

static uint32_t rules_bits(void)
{
	return atomic_load(&hook_rules) & 63;
}

static void clear_rules(void)
{
	_Atomic uint64_t *rules = hook_rules_table(atomic_load(&hook_rules));
	for (uint32_t i = 0; i < 1u << rules_bits(); i++)
		atomic_store_explicit(&rules[i], 0, memory_order_relaxed);
	known->rule_count = 0;
}

/* Discards all rules, which are recreated on demand, in a larger table if possible. */
static void make_capacity(void)
{
	size_t size_b = sizeof(uint64_t) << MORE_BITS;
	_Atomic uint64_t *more = NULL;
	if (rules_bits() < MORE_BITS && inject_connect_spares(size_b))
		more = inject_connect_page(size_b);
	if (!more) {
		clear_rules();
		return;
	}
	known->rule_count = 0;
	atomic_store_explicit(&hook_rules, (uintptr_t)more | MORE_BITS, memory_order_release);
}

/* Number of the row, added if new; 0 = no room. Rows are never removed: a thread may be about to read one. */
static uint32_t row_number(uint64_t packed)
{
	uint32_t at = (uint32_t)(packed * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOT_BITS));
	uint32_t number;
	while ((number = known->slots[at]) && known->rows[number] != packed)
		at = (at + 1) % SLOTS;
	if (number || known->row_count == ROWS_MOST)
		return number;
	number = ++known->row_count;
	atomic_store_explicit(&known->rows[number], packed, memory_order_relaxed);
	known->slots[at] = (uint16_t)number;
	return number;
}

/* Stores a rule, even if siglongjmp interrupted a thread that was adding the same one. */
static void keep(uint64_t pc, uint64_t packed)
{
	uint32_t row = row_number(packed);
	if (!row)
		return;
	if (known->rule_count >= (1u << rules_bits()) / 4 * 3)
		make_capacity();
	uintptr_t rules = atomic_load(&hook_rules);
	_Atomic uint64_t *table = hook_rules_table(rules);
	uint32_t at = hook_rules_home(rules, pc), mask = (1u << rules_bits()) - 1;
	uint32_t place = UINT32_MAX; /* slot of a removed rule */
	uint64_t there;
	while ((there = atomic_load_explicit(&table[at], memory_order_relaxed)) && there >> 16 != pc) {
		if (there >> 16 == NO_CODE && place == UINT32_MAX)
			place = at;
		at = (at + 1) & mask;
	}
	if (there || place == UINT32_MAX)
		place = at;
	known->rule_count += !there && place == at;
	atomic_store_explicit(&table[place], pc << 16 | row, memory_order_release);
}

/* Called under the lock. */
static uint64_t find_rule(uint64_t pc)
{
	struct sonde_unwind_row none = {.kind = SONDE_UNWIND_NONE};
	const struct module *module = find_module(pc - 1);
	module = module ? module : ask(pc - 1);
	const struct sonde_unwind_row *row =
	    module && module->table.count ? sonde_unwind_table_find(&module->table, pc - 1 - module->bias) : NULL;
	uint64_t packed = pack(row ? row : &none);
	keep(pc, packed);
	return packed;
}

/* The rule for a caller: its return address follows the call. */
__attribute__((noinline)) uint64_t hook_rules_make(const struct hook_thread *thread, uint64_t pc)
{
	struct sonde_unwind_row none = {.kind = SONDE_UNWIND_NONE};
	uint64_t packed = pack(&none);
	int saved = errno;
	if (pc >> 48 || !inject_calls_begin()) /* no user-space code has such addresses */
		return packed;
	uint64_t before = hook_thread_hold_signals();
	if (try_lock((uint32_t)thread->tid, pc)) {
		packed = find_rule(pc);
		unlock();
	} else {
		uint64_t found = look_up(pc);
		packed = found ? found : packed;
	}
	hook_thread_let_signals(before);
	inject_calls_end();
	errno = saved;
	return packed;
}

/* --- unloaded code ----------------------------------------------------------------------------------------------- */

static void forget_all(void)
{
	clear_rules();
	while (known->module_count)
		sonde_unwind_table_unmap(&known->modules[--known->module_count].table);
}

static int is_listed(const struct module *module, uint32_t listed_count)
{
	for (uint32_t i = 0; i < listed_count; i++)
		if (module->start >= known->listed[i].start && module->start < known->listed[i].end)
			return 1;
	return 0;
}

static int is_within(const struct inject_objects_range *ranges, uint32_t count, uint64_t pc)
{
	uint32_t i = 0;
	while (i < count && pc - 1 - ranges[i].start >= ranges[i].end - ranges[i].start)
		i++;
	return i < count;
}

/* A removed rule is replaced by a tombstone, so that rules stored behind it are still found. Rules without information
 * are removed, too: code generated at run time may have occupied the addresses of an object loaded next. */
static void forget_rules(const struct inject_objects_range *gone, uint32_t gone_count)
{
	struct sonde_unwind_row none = {.kind = SONDE_UNWIND_NONE};
	_Atomic uint64_t *rules = hook_rules_table(atomic_load(&hook_rules));
	uint32_t none_row = row_number(pack(&none));
	for (uint32_t i = 0; i < 1u << rules_bits(); i++) {
		uint64_t rule = atomic_load_explicit(&rules[i], memory_order_relaxed);
		if (rule && ((rule & 0xffff) == none_row || is_within(gone, gone_count, rule >> 16)))
			atomic_store_explicit(&rules[i], (uint64_t)NO_CODE << 16 | none_row, memory_order_relaxed);
	}
}

/* Modules in no listed object were mapped by another loader (of another namespace), which does not report their
 * removal: they are requested again. */
static void forget_unlisted(uint32_t listed_count)
{
	struct inject_objects_range gone[GONE];
	uint32_t gone_count = 0, kept_count = 0;
	for (uint32_t i = 0; i < known->module_count; i++)
		gone_count += !is_listed(&known->modules[i], listed_count);
	if (gone_count > GONE) {
		forget_all();
		return;
	}
	gone_count = 0;
	for (uint32_t i = 0; i < known->module_count; i++) {
		struct module *module = &known->modules[i];
		if (is_listed(module, listed_count)) {
			known->modules[kept_count++] = *module;
			continue;
		}
		gone[gone_count++] = (struct inject_objects_range){module->start, module->end};
		sonde_unwind_table_unmap(&module->table);
	}
	known->module_count = kept_count;
	forget_rules(gone, gone_count);
}

/* Lists the loaded objects. Returns their number; 0 = which objects were unloaded cannot be determined. It can be if
 * nothing was loaded in the meantime: then all objects listed now were there before, and none has taken the place of an
 * unloaded one. */
static uint32_t list_objects(const struct inject_objects_count *before)
{
	struct inject_objects_count now;
	uint32_t count = inject_objects_ranges(known->listed, LISTED, &now);
	return now.is_known && before->is_known && now.loads == before->loads && count <= LISTED ? count : 0;
}

static int has_lost_any(const struct inject_objects_count *before)
{
	struct inject_objects_count now;
	inject_objects_counted(&now);
	return !now.is_known || !before->is_known || now.unloads != before->unloads;
}

/* Removes the rules and modules of objects that are no longer listed; `listed_count` 0: removes all. Rules may be
 * removed while other threads unwind: unloaded code does not run any more, and rules of other code are recreated on
 * demand. After that, threads walk their stacks completely. Called with signals held. */
static void forget(uint32_t listed_count)
{
	if (!try_lock((uint32_t)inject_machine_call(SYS_gettid, 0, 0, 0, 0, 0, 0), 0))
		return;
	if (listed_count)
		forget_unlisted(listed_count);
	else
		forget_all();
	atomic_fetch_add(&hook_rules_generation, 1);
	unlock();
}

void hook_rules_forget(void)
{
	int saved = errno;
	if (!known || !inject_calls_begin())
		return;
	uint64_t before = hook_thread_hold_signals();
	forget(0);
	hook_thread_let_signals(before);
	inject_calls_end();
	errno = saved;
}

/* The list of objects is read before our lock is taken, since the owner of the loader's lock may wait for ours. */
void hook_rules_forget_gone(const struct inject_objects_count *before)
{
	int saved = errno;
	if (!known || !has_lost_any(before) || !inject_calls_begin())
		return;
	uint64_t signals = hook_thread_hold_signals();
	int is_mine = !atomic_exchange(&known->is_listing, 1);
	forget(is_mine ? list_objects(before) : 0);
	if (is_mine)
		atomic_store(&known->is_listing, 0);
	hook_thread_let_signals(signals);
	inject_calls_end();
	errno = saved;
}
