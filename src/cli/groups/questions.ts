import { type Commander, examples, type Run, reporting } from './group.ts';

export function addQuestionsCommands(program: Commander, run: Run): void {
  const group = program.command('questions').description('questions that wait for the answer of a person');
  group.addHelpText('before', examples('gatehouse questions list', 'gatehouse questions answer 7GQ2MX allow'));
  reporting(group, 'show', 'show one, open or over', [
    'gatehouse questions show 7GQ2MX',
    'gatehouse questions show 7GQ2MX --json',
  ])
    .argument('<id>', 'as listed')
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/questions.ts')).questionsShow, { id }, command),
    );
  reporting(group, 'decline', 'leave one unanswered, which its run is told', ['gatehouse questions decline 7GQ2MX'])
    .argument('<id>', 'as listed')
    .action((id: string, _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/questions.ts')).questionsDecline, { id }, command),
    );
  reporting(group, 'list', 'list those that are open', ['gatehouse questions list', 'gatehouse questions list --json']).action(
    (options: unknown, command: Commander) =>
      run(async () => (await import('../commands/questions.ts')).questionsList, options, command),
  );
  reporting(group, 'answer', 'answer one', ['gatehouse questions answer 7GQ2MX allow', 'gatehouse questions answer 7GQ2MX deny'])
    .argument('<id>', 'as listed')
    .argument('<answer...>', 'allow or deny, the number or label of a choice, or words')
    .action((id: string, answer: string[], _options: unknown, command: Commander) =>
      run(async () => (await import('../commands/questions.ts')).questionsAnswer, { id, answer }, command),
    );
}
