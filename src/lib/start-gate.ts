/**
 * Script of a POSIX shell that waits for a word on descriptor 3 and then becomes the program of its
 * arguments, under the same process id. Where the word does not come, because the recorder of the process is
 * gone, nothing was done. Where memory runs out on Linux, the kernel ends it and what it starts before the
 * daemon.
 */
const START_GATE = 'read -r _ <&3 || exit 125; exec 3<&-; { echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"';

/** Arguments of `/bin/sh` for a program that is to wait there. */
export function gated(argv: readonly string[]): readonly string[] {
  return ['-c', START_GATE, 'gate', ...argv];
}
