// throwing.cc: C++: exceptions through ten frames, work in a destructor, in a handler and in a template, by known
// shares.
//
// throwing SECONDS: of the work one half is done in a catch block, one quarter in a destructor that runs while the
// stack is unwound, one quarter in a template's function.
#include <cstdlib>
#include <stdexcept>

#include "burn.h"

namespace known
{

struct Guard {
	__attribute__((noinline)) ~Guard()
	{
		burn(BURN_UNIT / 4);
	}
};

template <typename T> struct Box {
	T value;
	__attribute__((noinline)) void work(T times)
	{
		burn(static_cast<long>(times) * (BURN_UNIT / 4));
		no_tail_call();
	}
};

__attribute__((noinline)) void fall(int depth)
{
	if (!depth)
		throw std::runtime_error("at the bottom");
	fall(depth - 1);
	no_tail_call();
}

__attribute__((noinline)) void guarded()
{
	Guard guard;
	fall(10);
}

__attribute__((noinline)) void recovered()
{
	burn(BURN_UNIT / 2);
}

__attribute__((noinline)) void attempt()
{
	try {
		guarded();
	} catch (const std::exception &) {
		recovered();
		no_tail_call();
	}
	Box<int> box{1};
	box.work(1);
	no_tail_call();
}

} // namespace known

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	while (static_cast<double>(thread_cpu_ns()) < seconds * 1e9)
		known::attempt();
	return 0;
}
