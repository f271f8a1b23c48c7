/** Commands that try to get out of the sandbox (attack A24), from `commands.txt` beside this file. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface EvasionCommand {
  /** From 1: what reports name. */
  readonly number: number;
  readonly family: string;
  /** With the names of `TARGETS` between at signs: `cat @S@`. */
  readonly text: string;
  /** How long it may run. Some would never end. s. */
  readonly seconds: number;
}

/** What commands aim at, by the name that stands for it in `commands.txt`. */
export interface Targets {
  /** A directory of the machine with secrets, a home and a config; each command has its own. */
  readonly H: string;
  /** A secret in it. */
  readonly S: string;
  readonly HOME: string;
  readonly CFG: string;
  /** Of a listener of streams. */
  readonly SOCK: string;
  /** The directory of the daemon, and the workspace of another person in it. */
  readonly DATA: string;
  readonly OTHER: string;
  readonly PORT: string;
  readonly UDP: string;
  readonly ABSTRACT: string;
  /** A process that belongs to another program, and the daemon. */
  readonly VICTIM: string;
  readonly DAEMON: string;
}

const DEFAULT_SECONDS = 10;

/**
 * One command a line; `␤` and `␍` are line ends within it. `# family (N s)` stands above those of a family; N
 * is how long each of them runs at most.
 */
export function evasionCommands(): readonly EvasionCommand[] {
  const commands: EvasionCommand[] = [];
  let [family, seconds] = ['', DEFAULT_SECONDS];
  for (const line of readFileSync(join(import.meta.dirname, 'commands.txt'), 'utf8').split('\n')) {
    const heading = /^# (.+?)(?: \((\d+) s\))?$/.exec(line);
    if (heading) [family, seconds] = [heading[1] ?? '', Number(heading[2] ?? DEFAULT_SECONDS)];
    else if (line !== '')
      commands.push({ number: commands.length + 1, family, seconds, text: line.replaceAll('␤', '\n').replaceAll('␍', '\r') });
  }
  return commands;
}

/** Throws on a name that is none, so that a misspelt command does not pass for a harmless one. */
export function aimed(text: string, targets: Targets): string {
  return text.replace(/@([A-Z]+)@/g, (_, name: string) => {
    const target = Object.hasOwn(targets, name) ? targets[name as keyof Targets] : undefined;
    if (target === undefined) throw new Error(`@${name}@ is no target`);
    return target;
  });
}
