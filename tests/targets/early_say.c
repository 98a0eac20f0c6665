/* early_say.c: system calls and output past everything that is interposed. */
#include <sys/syscall.h>

#include "early_calls.h"

long early_call(long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#endif
}

void early_say(const char *text)
{
	long length = 0;
	while (text[length])
		length++;
	early_call(SYS_write, 1, (long)text, length, 0);
}

void early_say_number(long number)
{
	char digits[24];
	int at = sizeof digits - 1;
	digits[at] = '\0';
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	early_say(digits + at);
}

void early_say_end(const char *where, long calls)
{
	early_say("\n");
	early_say(where);
	early_say(": ");
	early_say_number(calls);
	early_say(" calls\n");
}
