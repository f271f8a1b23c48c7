/**
 * What a command must not be, against accidents: a person who means harm writes it otherwise, and meets the
 * sandbox (A24).
 */
interface Rule {
  readonly what: string;
  /** `deny`: never. `ask`: a person would have to say yes. */
  readonly kind: 'deny' | 'ask';
  /** `words` is the command with each run of blanks as one, `bare` the command without any. */
  readonly fits: (words: string, bare: string) => boolean;
}

/** Where a command may begin: at the front, and behind what separates commands. */
const BEGIN = String.raw`(?:^|[\s;&|({\`'"])`;

function begins(pattern: string): Rule['fits'] {
  const found = new RegExp(BEGIN + pattern);
  return (words) => found.test(words);
}

/**
 * The same of a command with a word further behind. Only its first beginning is looked at: whatever stands
 * behind a later one stands behind that too.
 */
function beginsWith(pattern: string, word: RegExp): Rule['fits'] {
  const found = new RegExp(BEGIN + pattern);
  return (words) =>
    words.split(/[;&|]/).some((command) => {
      const front = found.exec(command);
      return front !== null && word.test(command.slice(front.index + front[0].length));
    });
}

/** `rm` with both flags, in any spelling, and with what matches as one of its arguments. */
function removes(target?: RegExp): Rule['fits'] {
  return (words) =>
    [...words.matchAll(/(?:^|[\s;&|({`'"/])rm((?: [^\s;&|]+)+)/g)].some(([, list = '']) => {
      const args = list.trim().split(' ');
      const flags = args.filter((arg) => arg.startsWith('-'));
      const isSet = (short: RegExp, long: string) =>
        flags.some((flag) => flag === long || (!flag.startsWith('--') && short.test(flag)));
      if (!isSet(/[rR]/, '--recursive') || !isSet(/f/, '--force')) return false;
      return target === undefined || args.some((arg) => target.test(arg));
    });
}

/** `mkfs`, or one for a kind such as `mkfs.ext4`, by its name or its whole path, with an argument. */
function makesFileSystem(words: string): boolean {
  return words
    .split(' ')
    .slice(0, -1)
    .some((word) => {
      const name = /mkfs(?:\.\w+)?$/.exec(word);
      const front = word.slice(0, name?.index ?? 0);
      return name !== null && (/(?:^|[;&|({`'"])$/.test(front) || (front.endsWith('/') && /(?:^|[;&|({`'"])\//.test(front)));
    });
}

/** `:(){:|:&};:`, under any name. Read from the sign in its middle, so that a long name takes no longer. */
function isForkBomb(bare: string): boolean {
  return [...bare.matchAll(/\(\)\{([\w:.]+)\|\1&\};?\1/g)].some(({ 1: name = '', index }) => bare.slice(0, index).endsWith(name));
}

const RULES: readonly Rule[] = [
  { what: 'rm -rf /', kind: 'deny', fits: removes(/^["']?\/+\*?["']?$/) },
  // By its front: what it reads from may be anything.
  { what: 'dd if=', kind: 'deny', fits: beginsWith('dd(?= )', / if=/) },
  { what: 'mkfs', kind: 'deny', fits: makesFileSystem },
  // Without blanks: it can be written with any number of them.
  { what: 'a fork bomb', kind: 'deny', fits: (_, bare) => isForkBomb(bare) },
  { what: 'chmod -R 777 /', kind: 'deny', fits: begins(String.raw`chmod (?:-R|--recursive) 0?777 \/+(?:[\s;&|]|$)`) },
  { what: 'sudo', kind: 'ask', fits: begins(String.raw`sudo\b`) },
  { what: 'rm -rf', kind: 'ask', fits: removes() },
  { what: 'git push --force', kind: 'ask', fits: beginsWith(String.raw`git push\b`, / (?:--force|-f)\b/) },
  { what: 'git reset --hard', kind: 'ask', fits: beginsWith(String.raw`git reset\b`, / --hard\b/) },
];

/** The first rule that a command meets; undefined = none. */
export function ruleOn(command: string): Pick<Rule, 'what' | 'kind'> | undefined {
  const words = command.replace(/\s+/g, ' ').trim();
  const bare = command.replace(/\s+/g, '');
  return RULES.find(({ fits }) => fits(words, bare));
}
