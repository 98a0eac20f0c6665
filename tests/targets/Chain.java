/* Chain.java: known call chains in Java: half of the time main > a > b > c > burn, a quarter below 20 levels of recursion,
 * a quarter in a native method (a checksum) that is called through a lambda and an interface.
 *
 * java Chain SECONDS [THREADS]: seconds of CPU time of each thread.
 */
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

public class Chain {
	static final byte[] bytes = new byte[1 << 15];
	static volatile long sink;

	static long burn(long rounds) {
		long sum = rounds;
		for (long i = 0; i < rounds; i++)
			sum += i ^ sum << 1;
		return sum;
	}

	static long c(long rounds) { return burn(rounds) + 1; }
	static long b(long rounds) { return c(rounds) + 1; }
	static long a(long rounds) { return b(rounds) + 1; }

	static long descend(int depth, long rounds) {
		return depth == 1 ? burn(rounds) : descend(depth - 1, rounds) + 1;
	}

	static long compress() {
		Deflater deflater = new Deflater(Deflater.BEST_SPEED);
		deflater.setInput(bytes);
		deflater.finish();
		long size = deflater.deflate(new byte[bytes.length * 2]);
		deflater.end();
		return size;
	}

	static long supply(LongSupplier supplier) { return supplier.getAsLong(); }

	/* The time of each part is taken, so that each gets its share however it is compiled. */
	static void work(double seconds) {
		var clock = ManagementFactory.getThreadMXBean();
		long[] used = new long[3];
		long at = clock.getCurrentThreadCpuTime(), end = at + (long) (seconds * 1e9);
		while (at < end) {
			int part = used[2] * 2 <= used[0] && used[2] <= used[1] ? 2 : used[1] * 2 <= used[0] ? 1 : 0;
			if (part == 0)
				sink += a(5000);
			else if (part == 1)
				sink += descend(20, 5000);
			else
				sink += supply(() -> compress());
			long now = clock.getCurrentThreadCpuTime();
			used[part] += now - at;
			at = now;
		}
	}

	public static void main(String[] args) throws InterruptedException {
		double seconds = Double.parseDouble(args[0]);
		int count = args.length > 1 ? Integer.parseInt(args[1]) : 0;
		new java.util.Random(1).nextBytes(bytes);
		Thread[] threads = new Thread[count];
		for (int i = 0; i < count; i++)
			(threads[i] = new Thread(() -> work(seconds))).start();
		for (Thread thread : threads)
			thread.join();
		if (count == 0)
			work(seconds);
	}
}
