// io_stream.cc: C++ streams whose bytes are known: io_stream FILE.
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	std::ofstream out(argv[1]);
	for (int i = 0; i < 10000; i++)
		out << "0123456789\n";
	out.close();
	std::ifstream in(argv[1]);
	std::string line;
	size_t size_b = 0;
	while (std::getline(in, line))
		size_b += line.size() + 1;
	std::cout << size_b << '\n';
	return 0;
}
