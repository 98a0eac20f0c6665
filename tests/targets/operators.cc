// operators.cc: C++ allocations with known answers: plain, array, aligned, nothrow, refused.
#include <cstdio>
#include <new>

struct alignas(64) line {
	char bytes[128];
};

template <class T> static T *used(T *pointer)
{
	asm volatile("" : "+r"(pointer)); // else the compiler may leave the pair out
	return pointer;
}

__attribute__((noinline)) void plain()
{
	for (int i = 0; i < 1000; i++)
		delete used(new int);
}

__attribute__((noinline)) void arrays()
{
	for (int i = 0; i < 100; i++)
		delete[] used(new int[10]);
}

__attribute__((noinline)) void lines()
{
	for (int i = 0; i < 10; i++)
		delete used(new line);
}

__attribute__((noinline)) void nothrow()
{
	for (int i = 0; i < 7; i++)
		used(new (std::nothrow) char[100]); // stays
}

__attribute__((noinline)) int refused()
{
	volatile size_t much = static_cast<size_t>(-1) / 4;
	try {
		used(new char[much]);
	} catch (const std::bad_alloc &) {
		return 1;
	}
	return 0;
}

int main()
{
	plain();
	arrays();
	lines();
	nothrow();
	std::puts(refused() ? "refused" : "given");
	return 0;
}
