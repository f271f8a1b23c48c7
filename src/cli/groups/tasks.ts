import type { TasksListOptions, TasksLogsOptions } from '../commands/tasks.ts';
import type { TasksAddOptions } from '../commands/tasks-add.ts';
import { type Commander, examples, type Run, reporting } from './group.ts';

const load = {
  add: async () => (await import('../commands/tasks-add.ts')).tasksAdd,
  list: async () => (await import('../commands/tasks.ts')).tasksList,
  show: async () => (await import('../commands/tasks.ts')).tasksShow,
  cancel: async () => (await import('../commands/tasks.ts')).tasksCancel,
  resume: async () => (await import('../commands/tasks.ts')).tasksResume,
  logs: async () => (await import('../commands/tasks.ts')).tasksLogs,
};

export function addTasksCommands(program: Commander, run: Run): void {
  const group = program.command('tasks').description('work that goes on in the background until it is done');
  group.addHelpText(
    'before',
    examples(
      'gatehouse tasks add "Compare the three offers in this folder" --file a.pdf',
      'gatehouse tasks list',
      'gatehouse tasks logs 12 -f',
    ),
  );
  addAdd(group, run);
  reporting(group, 'list', 'list those under way', ['gatehouse tasks list', 'gatehouse tasks list --all --json'])
    .option('-a, --all', 'also those that are over, as long as they are kept')
    .option('--limit <count>', 'the newest (default: 50)')
    .action((options: TasksListOptions, command: Commander) => run(load.list, options, command));
  const number = 'its number as listed';
  reporting(group, 'show', 'show one, with its result', ['gatehouse tasks show 12'])
    .argument('<task>', number)
    .action((task: string, _options: unknown, command: Commander) => run(load.show, { task }, command));
  reporting(group, 'cancel', 'end one, with all that it began', ['gatehouse tasks cancel 12'])
    .argument('<task>', number)
    .action((task: string, _options: unknown, command: Commander) => run(load.cancel, { task }, command));
  reporting(group, 'resume', 'go on with one that failed, from its recorded steps', ['gatehouse tasks resume 12'])
    .argument('<task>', number)
    .action((task: string, _options: unknown, command: Commander) => run(load.resume, { task }, command));
  reporting(
    group,
    'logs',
    'what is recorded of one',
    ['gatehouse tasks logs 12', 'gatehouse tasks logs 12 -f'],
    'one JSON document a line',
  )
    .argument('<task>', number)
    .option('-f, --follow', 'go on until it is over')
    .action((task: string, options: Omit<TasksLogsOptions, 'task'>, command: Commander) =>
      run(load.logs, { task, ...options }, command),
    );
}

function addAdd(group: Commander, run: Run): void {
  reporting(group, 'add', 'begin one', [
    'gatehouse tasks add "Find out why the backup is slow" --follow',
    'gatehouse tasks add "Summarise these" --file report.pdf --file notes.md --title "Summary"',
    'gatehouse tasks add "Check all links of the site" --channel telegram --to 4711 --max-tokens 200000',
  ])
    .argument('<text...>', 'what to do, in full: it is all that the agent is given')
    .option('--title <title>', 'default: the beginning of the text')
    .option('--file <path>', 'copied into its directory; repeatable', (one: string, all: readonly string[] = []) => [...all, one])
    .option('--channel <name>', "where its result goes (default: the owner's chat)")
    .option('--to <chat>', 'id of the chat on that channel')
    .option('-f, --follow', 'wait, show how far it is, and print the result here instead; the exit code says whether it was done')
    .option('--key <key>', 'the same key is the same task: a second add with it begins nothing')
    .option('--keep-days <days>', 'how long it is kept once it is over (default: tasks.keep_days)')
    .option('--max-tokens <count>', 'end it when it has used so many (default: tasks.max_tokens)')
    .option('--max-iterations <count>', 'model calls (default: tasks.max_iterations)')
    .action(
      (words: string[], options: Omit<TasksAddOptions, 'words' | 'file'> & { file?: readonly string[] }, command: Commander) =>
        run(load.add, { file: [], ...options, words }, command),
    );
}
