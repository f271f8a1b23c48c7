import type { ChoiceCommand, CommandSpec, RunCommand } from './command.ts';

function choice(kind: ChoiceCommand['kind'], args: string, summary: string): CommandSpec {
  return {
    ...{ name: kind, args, summary, isPrivate: true },
    read: (words) => ({ kind, ...(words.length > 0 ? { value: words.join(' ') } : {}) }),
  };
}

export const modelCommand = choice('model', '[NAME]', 'which model answers here, and which there are; or choose one');
export const thinkCommand = choice('think', '[off|low|medium|high|auto]', 'how much it thinks before it answers');

export const choose: RunCommand<ChoiceCommand> = (command, row, ports) => ports.choice.run(row, command);
