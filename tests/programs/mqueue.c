/* A chain over two processes, by a message queue. */
#include "truth.h"

#include <mqueue.h>
#include <sys/wait.h>

static void receive(mqd_t queue)
{
    struct task *task = be_task("receiver", "chained", 0, 50, 0);
    char message;
    for (;;) {
        while (mq_receive(queue, &message, 1, NULL) != 1)
            ;
        if (message)
            break;
        job_begins(task);
        work(1300 * US);
        job_ends(task);
    }
    task_ends(task);
}

static void send(mqd_t queue)
{
    struct task *task = be_task("sender", "periodic", 10 * MS, 60, 0);
    int64_t release = start_ns;
    for (; release < start_ns + length_ns; release += task->period) {
        until(release);
        job_begins(task);
        work(700 * US);
        mq_send(queue, "", 1, 0);
        job_ends(task);
    }
    until(release);
    mq_send(queue, "x", 1, 0);
    task_ends(task);
}

int main(int argc, char **argv)
{
    struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = 1};
    char name[32];
    setup(argc, argv);
    linked("sender", "receiver");
    snprintf(name, sizeof name, "/truth-%d", (int)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
    mq_unlink(name);
    pid_t child = queue == (mqd_t)-1 ? -1 : fork();
    if (child < 0)
        abort();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        receive(queue);
        _exit(0);
    }
    send(queue);
    waitpid(child, NULL, 0);
    return print_truth();
}
