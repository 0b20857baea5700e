/* Does what its argument says, which limits or endangers it, beside threads with jobs and locks; says what
 * became of it. Without deadbeat and with it the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t posted;
static sigjmp_buf jump;
static const char *self, *mode;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

/* More records than any memory of before main holds. */
static void locks(int pairs)
{
    for (int n = 0; n < pairs; n++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
}

static void *work(void *none)
{
    if (!is("filter") && !is("filter-syscall"))
        prctl(PR_SET_NAME, "\nname 7 x"); /* would end a line, and forge the next */
    for (int job = 0; job < (is("threads") ? 4 : 40); job++) {
        usleep(2000);
        locks(is("threads") ? 5 : 100);
    }
    return none;
}

static void limit(__rlimit_resource_t which, rlim_t most)
{
    const struct rlimit both = {most, most};
    if (setrlimit(which, &both) != 0)
        perror("setrlimit");
}

/* Each call that the shim might want is deadly from now on. */
static void filter(int by_prctl)
{
    static const int no[] = {SYS_openat,    SYS_mmap,     SYS_munmap,   SYS_ftruncate,
                             SYS_fallocate, SYS_prctl,    SYS_madvise,  SYS_gettid,
                             SYS_getpid,    SYS_pwrite64, SYS_readlink, SYS_getrlimit};
    enum { COUNT = sizeof no / sizeof *no };
    struct sock_filter code[2 * COUNT + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        code[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)no[i], 0, 1);
        code[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    code[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {2 * COUNT + 2, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all)
                 : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all))
        perror("seccomp");
}

static void on_signal(int number)
{
    if (number == SIGALRM)
        siglongjmp(jump, 1);
    sem_post(&posted);
}

/* What a process has from whoever started it. */
static void inherited(void)
{
    struct rlimit most;
    struct sigaction how;
    sigset_t mask;
    char path[64], text[4096] = "";
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < 32; number++)
        printf("%d%d ", sigaction(number, NULL, &how) == 0 && how.sa_handler == SIG_IGN,
               sigismember(&mask, number));
    for (int which = 0; which < RLIMIT_NLIMITS; which++)
        printf("%ld ", getrlimit((__rlimit_resource_t)which, &most) == 0 ? (long)most.rlim_cur : -1);
    for (int file = 0; file < 100; file++)
        printf("%s", fcntl(file, F_GETFD) == -1 ? "" : (snprintf(path, sizeof path, "%d ", file), path));
    printf("%o %d %d %d %d %s\n", umask(022), prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE),
           sched_getscheduler(0), getpriority(PRIO_PROCESS, 0), getcwd(text, sizeof text) ? text : "gone");
}

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void give(void)
{
    pthread_mutex_unlock(&lock);
}

static void cancelled(void *none)
{
    (void)none;
    give();
}

static void *waits(void *none)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(cancelled, NULL);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
    return none;
}

static void *hogs(void *none)
{
    for (int n = 0; n < 200; n++) {
        take();
        for (volatile int busy = 0; busy < 300000; busy++)
            ;
        give();
    }
    return none;
}

static int child(int status)
{
    int found = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (is("chroot-child") && chroot("/proc") != 0)
            perror("chroot");
        locks(20000);
        if (is("fork-exit"))
            exit(status);
        if (is("fork-killed"))
            raise(SIGKILL);
        _exit(status);
    }
    waitpid(pid, &found, 0);
    printf("child %x\n", (unsigned)found);
    return 0;
}

static void spawned(void)
{
    char *const words[] = {"sh", "-c", "echo spawned; exit 3", NULL};
    int found = 0;
    pid_t pid;
    if (is("vfork")) {
        if ((pid = vfork()) == 0) {
            execv("/bin/sh", words);
            _exit(9);
        }
    } else
        posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ);
    waitpid(pid, &found, 0);
    printf("spawned %x\n", (unsigned)found);
}

static void owner_dies(void)
{
    pthread_mutexattr_t how;
    pthread_mutex_t *robust = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(robust, &how);
    if (fork() == 0) {
        pthread_mutex_lock(robust);
        _exit(0);
    }
    wait(NULL);
    int first = pthread_mutex_lock(robust), made = pthread_mutex_consistent(robust);
    printf("%d %d %d\n", first == EOWNERDEAD, made, pthread_mutex_unlock(robust));
}

static void small_stack(void)
{
    static char stack[2048 + 4096 * 3]; /* MINSIGSTKSZ beside what saves vectors needs */
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction how = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &how, NULL);
    for (int n = 0; n < 1000; n++)
        raise(SIGUSR1);
    for (int n = 0; n < 1000; n++)
        sem_wait(&posted);
}

/* Page faults of a thread whose memory is there. */
static void faults(void)
{
    struct rusage before, after;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    locks(1);
    printf("locked\n");
    getrusage(RUSAGE_THREAD, &before);
    for (int job = 0; job < 40; job++, usleep(1000))
        locks(30);
    getrusage(RUSAGE_THREAD, &after);
    printf("%ld\n", after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt);
}

static void jumps(void)
{
    volatile int count = 0;
    signal(SIGALRM, on_signal);
    while (count < 50)
        if (sigsetjmp(jump, 1) == 0) {
            ualarm(1000 + (unsigned)count * 7, 0);
            for (sem_t own;;) {
                sem_init(&own, 0, 1);
                sem_wait(&own);
                sem_post(&own);
            }
        } else
            count++;
    printf("jumped %d\n", count);
}

/* In the table's order of what is harmed: limits, filters, files, rights, processes, threads, signals. */
static int odd(void)
{
    pthread_t thread;
    int first;
    if (is("fsize"))
        limit(RLIMIT_FSIZE, 0);
    else if (is("nofile") || is("address-space") || is("nproc"))
        limit(is("nofile")  ? RLIMIT_NOFILE
              : is("nproc") ? RLIMIT_NPROC
                            : RLIMIT_AS,
              is("address-space") ? 100 << 20 : 3);
    else if (is("cpu") || is("rttime")) {
        limit(is("cpu") ? RLIMIT_CPU : RLIMIT_RTTIME, is("cpu") ? 1 : 100000);
        for (sched_setscheduler(0, is("cpu") ? SCHED_OTHER : SCHED_RR, &(struct sched_param){is("rttime")});;)
            ;
    } else if (is("memlock") && (limit(RLIMIT_MEMLOCK, 1 << 20), mlockall(MCL_CURRENT | MCL_FUTURE)))
        perror("mlockall");
    else if (is("strict")) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        locks(20000);
        first = (int)write(1, "strict\n", 7);
        syscall(SYS_exit, first);
    } else if (is("filter") || is("filter-syscall")) {
        filter(is("filter"));
        work(NULL);
        return write(1, "filtered\n", 9) != 9;
    } else if (is("closefrom"))
        closefrom(3);
    else if (is("dup2"))
        for (int file = 3; file < 64; file++)
            dup2(0, file);
    else if (is("chroot"))
        printf("%d\n", chroot("/proc") + chdir("/"));
    else if (is("setuid"))
        printf("%d\n", setgid(65534) + setuid(65534));
    else if (is("unshare"))
        printf("%d\n", unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET) + child(4));
    else if (is("exec-empty"))
        execle(self, self, "none", NULL, (char *[]){NULL});
    else if (strstr(mode, "fork-") || is("chroot-child")) {
        for (int n = 0; is("fork-handlers") && n < 2; n++)
            pthread_create(&thread, NULL, hogs, NULL);
        pthread_atfork(is("fork-handlers") ? take : NULL, is("fork-handlers") ? give : NULL,
                       is("fork-handlers") ? give : NULL);
        for (int n = 0; n < 10; n++)
            child(5);
    } else if (is("vfork") || is("spawn"))
        spawned();
    else if (is("daemon"))
        printf("%d\n", daemon(1, 1));
    else if (is("traceme"))
        printf("%ld\n", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    else if (is("undumpable") || is("subreaper") || is("pdeathsig"))
        printf("%d\n", prctl(is("undumpable")  ? PR_SET_DUMPABLE
                             : is("subreaper") ? PR_SET_CHILD_SUBREAPER
                                               : PR_SET_PDEATHSIG,
                             is("subreaper")   ? 1
                             : is("pdeathsig") ? SIGKILL
                                               : 0,
                             0, 0, 0));
    else if (is("title"))
        memset(environ[0], 'x', (size_t)(environ[1] - environ[0]));
    else if (is("deepbind"))
        printf("%d\n", dlopen("libm.so.6", RTLD_NOW | RTLD_DEEPBIND) != NULL);
    else if (is("robust"))
        owner_dies();
    else if (is("stack"))
        small_stack();
    else if (is("jumps"))
        jumps();
    else if (is("faults"))
        faults();
    else if (is("inherited"))
        inherited();
    else if (is("cancel"))
        for (int n = 0; n < 50; n++) {
            pthread_create(&thread, NULL, waits, NULL);
            usleep(200);
            pthread_cancel(thread);
            pthread_join(thread, NULL);
        }
    else if (is("threads")) {
        static pthread_t every[1000];
        for (first = 0; first < 1000 && pthread_create(&every[first], NULL, work, NULL) == 0; first++)
            ;
        printf("%d\n", first);
        while (first > 0)
            pthread_join(every[--first], NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    self = argv[0];
    mode = argc > 1 ? argv[1] : "fsize";
    setvbuf(stdout, NULL, _IONBF, 0);
    int status = odd(), made = strncmp(mode, "filter", 6) ? pthread_create(&thread, NULL, work, NULL) : -1;
    if (made < 0)
        _exit(status);
    printf("made %d\n", made);
    if (made == 0)
        pthread_join(thread, NULL);
    else
        work(NULL);
    if (is("abort"))
        abort();
    if (is("segfault"))
        raise(SIGSEGV);
    if (is("end-of-main")) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_exit(NULL);
    }
    return status ? status : 7;
}
