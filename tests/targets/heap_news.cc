// heap_news.cc: what heap_odd loads: uses all kinds of operators new and delete, 100 times each: 40 bytes a block,
// or 64 where it is aligned.
#include <new>

namespace
{

void *volatile last;

void *seen(void *block)
{
	last = block;
	return last;
}

} // namespace

extern "C" __attribute__((noinline)) void heap_news()
{
	const std::align_val_t align{64};
	for (int i = 0; i < 100; i++) {
		::operator delete(seen(::operator new(40)));
		::operator delete[](seen(::operator new[](40)));
		::operator delete(seen(::operator new(40)), 40);
		::operator delete[](seen(::operator new[](40)), 40);
		::operator delete(seen(::operator new(40, std::nothrow)), std::nothrow);
		::operator delete[](seen(::operator new[](40, std::nothrow)), std::nothrow);
		::operator delete(seen(::operator new(64, align)), align);
		::operator delete[](seen(::operator new[](64, align)), align);
		::operator delete(seen(::operator new(64, align)), 64, align);
		::operator delete[](seen(::operator new[](64, align)), 64, align);
		::operator delete(seen(::operator new(64, align, std::nothrow)), align, std::nothrow);
		::operator delete[](seen(::operator new[](64, align, std::nothrow)), align, std::nothrow);
	}
}

extern "C" int plugin_works()
{
	int caught = 0;
	heap_news();
	try {
		seen(::operator new(~0ul / 4));
	} catch (const std::bad_alloc &) {
		caught = 1;
	}
	return !caught || ::operator new(~0ul / 4, std::nothrow);
}
