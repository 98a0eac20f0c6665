/* use.c: every macro of sonde.h once, as C and as C++; run.sh compiles it in several ways. */
#include <sonde/sonde.h>

int used(int value);
int plain(int value);

int used(int value)
{
	SONDE_ZONE("used");
	SONDE_ZONE_COLOR("coloured", 0x00ff00);
	SONDE_ZONE_WORK(value, 2, 3);
	SONDE_ZONE_ARG("value", value);
	SONDE_BEGIN("begun");
	SONDE_ZONE_NEXT("next");
	SONDE_END();
	SONDE_COUNT("counted");
	SONDE_COUNTER_ADD("added", 2);
	SONDE_GAUGE_SET("set", 0.5);
	SONDE_HISTOGRAM("recorded", 3);
	SONDE_INSTANT("instant");
	SONDE_ITERATION("iteration", 1);
	SONDE_SPAN_BEGIN("span", 7);
	SONDE_SPAN_END(7);
	sonde_message("said");
	(void)sonde_snapshot("taken");
	(void)sonde_alloc("pool", &value, sizeof(value));
	(void)sonde_free("pool", &value);
	return value + 1;
}

int plain(int value)
{
	return value + 1;
}

int main(void)
{
	return used(1) == plain(1) && !sonde_is_on() ? 0 : 1;
}
