# FreeRTOS: make KERNEL=FreeRTOS-Kernel [BOARD=folder], a board being a folder of this one (board.h says what
# it has). BOARD=hosted is FreeRTOS on FreeRTOS's own POSIX port; a board of yours names the kernel's port in
# KERNEL_PORT, and brings the program to its machine.
BOARD = hosted
KERNEL_PORT = $(KERNEL)/portable/ThirdParty/GCC/Posix
PORT_SOURCES = $(sort $(wildcard port/$(BOARD)/*.c port/$(BOARD)/*.S)) $(addprefix $(KERNEL)/,tasks.c list.c queue.c) \
    $(wildcard $(KERNEL_PORT)/*.c $(KERNEL_PORT)/utils/*.c $(KERNEL_PORT)/*.S)
PORT_FLAGS = -D_GNU_SOURCE= -pthread -Iport/$(BOARD) -I$(KERNEL)/include -I$(KERNEL_PORT) -I$(KERNEL_PORT)/utils
PORT_LIBS = -lm -lrt
CPU = 0
POLICY = fifo

ifeq ($(KERNEL),)
$(error KERNEL is not given: the folder of FreeRTOS-Kernel, as make KERNEL=../FreeRTOS-Kernel)
endif

check: $(PROGRAM)
	./$(PROGRAM) $(CPU) $(POLICY) records.jobs alone
