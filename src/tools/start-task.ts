import { z } from 'zod';
import { isGatehouseError } from '../core/errors.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

export const startTask = defineBoundTool({
  name: 'start_task',
  description:
    'Begins work in the background that takes long, and returns at once. Its result is written to this chat when it is done. It knows only what you tell it here.',
  schema: z.strictObject({
    task: z.string().min(1).describe('What to do, in full'),
    title: z.string().optional().describe('In a few words'),
  }),
  tags: ['task'],
  effect: 'outside',
  act: 'task',
  // By the key of the call: the task that it began is not begun again.
  idempotent: true,
  bind: ({ tasks, authority, origin, session, taint = 0 }) =>
    tasks && origin && authority.role !== 'guest' ? { tasks, authority, origin, session, taint } : undefined,
  async run({ task: text, title }, { idempotencyKey: key, taint = 0 }, { tasks, origin, ...scope }) {
    try {
      const task = await tasks.add({
        ...{ text, client: 'tool', key, replyTo: origin, authority: scope.authority, session: scope.session },
        taint: scope.taint | taint,
        ...(title === undefined ? {} : { title }),
      });
      return `Begun: task ${task.number} "${task.title}". The person is told here when it is done; do not wait for it.`;
    } catch (error) {
      if (!isGatehouseError(error) || (error.code !== 'GH1710' && error.code !== 'GH1711')) throw error;
      throw new ToolFailure(`${error.message}; ${error.hint}`);
    }
  },
});
