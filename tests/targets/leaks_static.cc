// leaks_static.cc: what C++ programs leave. Kept: `table` in a static container, 10 × (a string of 200 B) and what the
// container needs; none() in a static pointer, arrays of no objects. Lost: lost() 3 × 40 B, lines() 2 × 8 B that hold
// arrays of no objects whose address nobody keeps.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#define NO_INLINE __attribute__((noinline, noclone, noipa))

struct counted {
	int *value = nullptr;
	~counted() { delete value; }
};

static std::map<int, std::string> *table = new std::map<int, std::string>;
static std::vector<std::string> words; // whose destructor frees it
static counted *volatile empty[4];

NO_INLINE void fills()
{
	for (int i = 0; i < 10; i++) {
		(*table)[i] = std::string(200, 'x');
		words.push_back(std::string(300, 'y'));
	}
}

NO_INLINE void none()
{
	for (int i = 0; i < 4; i++)
		empty[i] = new counted[0];
}

NO_INLINE void lines()
{
	for (int i = 0; i < 2; i++) {
		counted *volatile gone = new counted[0];
		gone = nullptr;
		(void)gone;
	}
}

NO_INLINE void lost()
{
	for (int i = 0; i < 3; i++) {
		void *volatile gone = operator new(40);
		gone = nullptr;
		(void)gone;
	}
}

NO_INLINE void wipe()
{
	volatile char space[65536];
	for (size_t i = 0; i < sizeof space; i++)
		space[i] = 0;
}

int main()
{
	fills();
	none();
	lines();
	lost();
	std::puts("static");
	wipe();
	return 0;
}
