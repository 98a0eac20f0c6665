// heap_plug.cc: what heap_plugs loads: an object that has operators new and delete of its own, which give out blocks of
// its own memory, and stop the program when they are given a block that is not theirs. PLUG_HAS_NONE: it calls those of
// another object; PLUG_CALLS: such an object works as it does. Needs no C++ library.
#include <stddef.h>
#include <stdlib.h>

extern "C" int plugin_calls();

#ifdef PLUG_HAS_NONE
namespace
{
void *volatile last;
}
#else
namespace
{

constexpr size_t SLOT_B = 64, SLOTS = 1024;
alignas(16) char memory[SLOTS][SLOT_B];
bool is_taken[SLOTS];
void *volatile last;
int calls;

void *take(size_t size_b)
{
	calls++;
	for (size_t i = 0; i < SLOTS && size_b <= SLOT_B; i++)
		if (!is_taken[i]) {
			is_taken[i] = true;
			return memory[i];
		}
	abort();
}

void give(void *block)
{
	calls++;
	size_t at = static_cast<size_t>(static_cast<char *>(block) - memory[0]);
	if (at >= sizeof(memory) || at % SLOT_B || !is_taken[at / SLOT_B])
		abort();
	is_taken[at / SLOT_B] = false;
}

} // namespace

void *operator new(size_t size_b)
{
	return take(size_b);
}

void *operator new[](size_t size_b)
{
	return take(size_b);
}

void operator delete(void *block) noexcept
{
	give(block);
}

void operator delete[](void *block) noexcept
{
	give(block);
}

void operator delete(void *block, size_t) noexcept
{
	give(block);
}

void operator delete[](void *block, size_t) noexcept
{
	give(block);
}

extern "C" int plugin_calls()
{
	return calls;
}
#endif

// Ten blocks of 40 bytes and ten of 60, all given back but one.
extern "C" __attribute__((noinline)) void PLUG_NAME()
{
	void *blocks[20];
	for (int i = 0; i < 20; i++) {
		last = i % 2 ? ::operator new(40) : ::operator new[](60);
		blocks[i] = last;
	}
	for (int i = 1; i < 20; i++)
		if (i % 2)
			::operator delete(blocks[i], 40);
		else
			::operator delete[](blocks[i]);
}

#ifdef PLUG_CALLS
extern "C" void PLUG_CALLS();
#else
#define PLUG_CALLS() (void)0
#endif

extern "C" int plugin_works()
{
	PLUG_NAME();
	PLUG_CALLS();
	__asm__ volatile("");
	return 0;
}
