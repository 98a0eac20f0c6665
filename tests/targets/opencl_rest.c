/* opencl_rest.c: rarely used OpenCL commands, once each, with known bytes.
 *
 * An image of 16 × 8 with 16 B an element: written, read, copied, filled, to a buffer and back, mapped; rectangles of 4
 * × 4 × 2 bytes written, read, copied; a part of a buffer is filled and released; a task; a barrier; shared virtual
 * memory of 4096 B (where the device has it): filled, copied, mapped, freed. Prints what came out, and whether there is
 * shared memory. "parent" in front of it all: a child is forked before OpenCL is used, and does the same.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opencl_known.h"

enum { WIDTH = 16, HEIGHT = 8, ELEMENT = 16, IMAGE_B = WIDTH * HEIGHT * ELEMENT };

static struct opencl cl;
static unsigned char host[IMAGE_B];

static cl_mem image_of(void)
{
	const cl_image_format format = {CL_RGBA, CL_FLOAT};
	const cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
	cl_int code;
	cl_mem image = clCreateImage(cl.context, CL_MEM_READ_WRITE, &format, &shape, NULL, &code);
	need(code, "clCreateImage");
	return image;
}

static void images(cl_command_queue queue, cl_mem buffer)
{
	const size_t origin[3] = {0}, whole[3] = {WIDTH, HEIGHT, 1}, half[3] = {WIDTH, HEIGHT / 2, 1};
	const float color[4] = {1, 2, 3, 4};
	cl_mem a = image_of(), b = image_of();
	size_t row_b;
	cl_int code;
	need(clEnqueueWriteImage(queue, a, CL_TRUE, origin, whole, 0, 0, host, 0, NULL, NULL), "write");
	need(clEnqueueCopyImage(queue, a, b, origin, origin, half, 0, NULL, NULL), "copy");
	need(clEnqueueFillImage(queue, b, color, origin, half, 0, NULL, NULL), "fill");
	need(clEnqueueCopyImageToBuffer(queue, b, buffer, origin, half, 0, 0, NULL, NULL), "to buffer");
	need(clEnqueueCopyBufferToImage(queue, buffer, a, 0, origin, half, 0, NULL, NULL), "to image");
	void *at = clEnqueueMapImage(queue, a, CL_TRUE, CL_MAP_READ, origin, half, &row_b, NULL, 0, NULL, NULL, &code);
	need(code, "map");
	need(clEnqueueUnmapMemObject(queue, a, at, 0, NULL, NULL), "unmap");
	need(clEnqueueReadImage(queue, a, CL_FALSE, origin, whole, 0, 0, host, 0, NULL, NULL), "read");
	need(clFinish(queue), "clFinish");
	need(clReleaseMemObject(a), "clReleaseMemObject");
	need(clReleaseMemObject(b), "clReleaseMemObject");
}

static void rectangles(cl_command_queue queue, cl_mem buffer)
{
	const size_t origin[3] = {0}, away[3] = {0, 8, 0}, region[3] = {4, 4, 2};
	need(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, origin, origin, region, 16, 256, 16, 256, host, 0, NULL,
				      NULL),
	     "write");
	need(clEnqueueCopyBufferRect(queue, buffer, buffer, origin, away, region, 16, 256, 16, 256, 0, NULL, NULL),
	     "copy");
	need(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, away, origin, region, 16, 256, 16, 256, host + 1024, 0,
				     NULL, NULL),
	     "read");
}

static void others(cl_command_queue queue, cl_mem buffer)
{
	const cl_buffer_region region = {0, 128};
	const unsigned char seven = 7;
	cl_int code;
	cl_mem part = clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
	need(code, "clCreateSubBuffer");
	need(clRetainMemObject(part), "clRetainMemObject");
	need(clEnqueueFillBuffer(queue, part, &seven, 1, 0, 128, 0, NULL, NULL), "fill");
	need(clReleaseMemObject(part), "clReleaseMemObject");
	need(clReleaseMemObject(part), "clReleaseMemObject");
	cl_kernel kernel = kernel_of(&cl, "once");
	need(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
	need(clEnqueueTask(queue, kernel, 0, NULL, NULL), "task");
	need(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL), "barrier");
	need(clEnqueueMigrateMemObjects(queue, 1, &buffer, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL), "migrate");
	need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 256, host, 0, NULL, NULL), "read");
	need(clReleaseKernel(kernel), "clReleaseKernel");
}

static int shared(cl_command_queue queue)
{
	cl_device_svm_capabilities can = 0;
	const unsigned char nine = 9;
	clGetDeviceInfo(cl.device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL);
	if (!(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
		return 0;
	unsigned char *a = clSVMAlloc(cl.context, CL_MEM_READ_WRITE, 4096, 0);
	void *b = clSVMAlloc(cl.context, CL_MEM_READ_WRITE, 4096, 0);
	if (!a || !b)
		exit(3);
	need(clEnqueueSVMMemFill(queue, a, &nine, 1, 4096, 0, NULL, NULL), "fill");
	need(clEnqueueSVMMemcpy(queue, CL_TRUE, b, a, 2048, 0, NULL, NULL), "copy");
	need(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, a, 4096, 0, NULL, NULL), "map");
	host[300] = a[4095];
	need(clEnqueueSVMUnmap(queue, a, 0, NULL, NULL), "unmap");
	need(clEnqueueSVMFree(queue, 1, &b, NULL, NULL, 0, NULL, NULL), "free");
	need(clFinish(queue), "clFinish");
	clSVMFree(cl.context, a);
	return 1;
}

int main(int argc, char **argv)
{
	unsigned sum = 0;
	int status = 0;
	pid_t pid = argc > 1 && !strcmp(argv[1], "parent") ? fork() : 0;
	if (pid && (waitpid(pid, &status, 0) != pid || status))
		return 3;
	opencl_open(&cl, "kernel void once(global uchar *x) { x[200] = 5; }\n");
	cl_command_queue queue = queue_of(&cl, 0);
	cl_mem buffer = buffer_of(&cl, 4096, 0);
	memset(host, 1, sizeof host);
	images(queue, buffer);
	rectangles(queue, buffer);
	others(queue, buffer);
	int has_shared = shared(queue);
	for (size_t i = 0; i < sizeof host; i++)
		sum = sum * 31 + host[i];
	printf("sum %u, shared %d\n", sum, has_shared);
	need(clReleaseMemObject(buffer), "clReleaseMemObject");
	need(clReleaseCommandQueue(queue), "clReleaseCommandQueue");
	need(clReleaseContext(cl.context), "clReleaseContext");
	return 0;
}
