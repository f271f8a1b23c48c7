import type { CommandSpec, TaskCommand } from './command.ts';

export const taskCommand: CommandSpec = {
  name: 'task',
  args: 'WHAT',
  summary: 'let the agent work on something in the background, and tell you here when it is done',
  read: (_words, rest) => (rest === '' ? { kind: 'tasks', act: 'list' } : { kind: 'task', text: rest }),
};

const ACTS: readonly TaskCommand['act'][] = ['show', 'cancel', 'resume'];

export const tasksCommand: CommandSpec = {
  name: 'tasks',
  args: '[NUMBER | cancel NUMBER | resume NUMBER]',
  summary: 'your tasks, what became of one, or end or go on with one',
  isPrivate: true,
  read(words) {
    if (words.length === 0) return { kind: 'tasks', act: 'list' };
    const [act, number, ...more] = words.length === 1 ? ['show', ...words] : words;
    const known = ACTS.find((one) => one === act);
    if (!known || more.length > 0 || number === undefined || !/^#?[1-9]\d{0,14}$/.test(number)) return undefined;
    return { kind: 'tasks', act: known, number: number.replace('#', '') };
  },
};
