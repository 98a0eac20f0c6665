// heap_waits.cc: what heap_plugs loads: its constructor waits for a thread that allocates 100 blocks of 48 bytes, and
// starts one more.
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

namespace
{

void *volatile last;
volatile size_t made;

__attribute__((noinline)) void uses()
{
	for (int i = 0; i < 100; i++) {
		last = ::operator new(48);
		::operator delete(last);
	}
	made = made + 100;
}

struct waiting {
	waiting()
	{
		std::thread first(uses);
		first.join();
		std::thread second([] { std::thread(uses).join(); });
		second.join();
	}
};

waiting at_start;

} // namespace

extern "C" int plugin_works()
{
	std::string text(100, 'x'); // larger than what has room in a string
	last = text.data();
	return made != 200;
}
