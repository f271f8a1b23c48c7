import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../channels/registry.ts';
import { isEnvironmentName, unsetVariable } from '../src/lib/environment-name.ts';
import { tempDir } from '../src/testing/fakes.ts';
import { configJsonSchema } from './json-schema.ts';
import { loadConfig } from './load.ts';
import { ConfigError, formatProblem, type Problem } from './problem.ts';

type Path = readonly (string | 0)[];

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly const?: unknown;
}

interface Place {
  readonly path: Path;
  /** What tells the variant of a union, at its place. */
  readonly given: readonly (readonly [Path, unknown])[];
}

/** Every key that names a variable, wherever the schema has one. */
function places(node: SchemaNode, path: Path = [], given: Place['given'] = []): Place[] {
  const constants = Object.entries(node.properties ?? {}).flatMap(([key, { const: value }]) =>
    value === undefined ? [] : [[[...path, key], value] as const],
  );
  const known = [...given, ...constants];
  const { additionalProperties: entry } = node;
  return [
    ...Object.entries(node.properties ?? {}).flatMap(([key, child]): Place[] => {
      // Of a record, such as that of headers, the values are names.
      const inner = typeof child.additionalProperties === 'object' ? ['x'] : [];
      if (key.endsWith('_env')) return [{ path: [...path, key, ...inner], given: known }];
      if (key.endsWith('_envs')) return [{ path: [...path, key, 0], given: known }];
      return places(child, [...path, key], known);
    }),
    ...(node.items ? places(node.items, [...path, 0], known) : []),
    ...(typeof entry === 'object' ? places(entry, [...path, 'x'], known) : []),
    ...[...(node.anyOf ?? []), ...(node.oneOf ?? [])].flatMap((variant) => places(variant, path, known)),
  ];
}

function put(root: Record<string, unknown>, path: Path, value: unknown): void {
  let node: Record<string | number, unknown> = root;
  for (const [at, step] of path.slice(0, -1).entries()) {
    node[step] ??= path[at + 1] === 0 ? [] : {};
    node = node[step] as Record<string | number, unknown>;
  }
  node[path.at(-1) ?? ''] = value;
}

async function problemsOf(text: string): Promise<readonly Problem[]> {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'c.json'), text);
  const channelSettings = async (type: string) => (await CHANNELS[type]?.())?.settings;
  const options = {
    cwd: dir.path,
    home: dir.path,
    env: {},
    file: 'c.json',
    channelTypes: Object.keys(CHANNELS),
    channelSettings,
  };
  return await loadConfig(options).then(
    ({ warnings }) => warnings,
    (error: unknown) => {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    },
  );
}

/** Made up, in the forms of the platforms. The last has the form of no key and is not a name either. */
const SECRETS = [
  '7463920184:AAGq0xXnF9b2LkV8eTzYw31mQpRsUjHdKcZ',
  'xoxb-2039481726-5738291046-aBcDeFgHiJkLmNoPqRsTuVwX',
  'f3b1c0a92d7e4856a1b2c3d4e5f60718',
  'cli_a1b2c3d4e5f6a7b8',
  'sk_live_aZbYcXdWeVfUgThSiRjQkPlO',
  'p4ss wörd!',
];

test('A29 a secret in place of the name of a variable is refused under every key, and shown nowhere', async () => {
  const settings = await Promise.all(
    Object.entries(CHANNELS).map(async ([type, load]) => ({ type, settings: (await load()).settings })),
  );
  const all = places(configJsonSchema(settings) as unknown as SchemaNode);
  expect(all.length).toBeGreaterThan(20);
  for (const [index, { path, given }] of all.entries()) {
    const secret = SECRETS[index % SECRETS.length] ?? '';
    const config: Record<string, unknown> = {};
    for (const [place, value] of given) put(config, place, value);
    put(config, path, secret);
    const problems = await problemsOf(JSON.stringify(config, undefined, index % 2));
    const at = path.reduce<string>((text, step) => (step === 0 ? `${text}[0]` : `${text}.${step}`), '').slice(1);
    expect(problems.filter(({ severity }) => severity === 'error')).toContainEqual(
      expect.objectContaining({ path: at, message: 'must be the name of an environment variable, not the secret itself' }),
    );
    for (const each of SECRETS) expect(problems.map(formatProblem).join('\n')).not.toContain(each);
  }
});

test.each(SECRETS)('%s is no name', (secret) => expect(isEnvironmentName(secret)).toBe(false));

test.each([
  'TELEGRAM_BOT_TOKEN',
  'TELEGRAM_BOT_TOKEN_2',
  'TELEGRAMBOTTOKEN12',
  '_X1',
  'telegram_token_of_family_2',
  'GatehouseSlackToken',
  'AZURE_OPENAI_API_KEY_EASTUS2',
])('%s is a name', (name) => expect(isEnvironmentName(name)).toBe(true));

test('a variable that is not set is named only where it cannot be a password', () => {
  expect(unsetVariable('BOT_TOKEN').message).toBe('environment variable BOT_TOKEN is not set');
  expect(unsetVariable('hunter2').message).toBe('environment variable hu… (7 characters) is not set');
  expect(unsetVariable('hunter2').hint).not.toContain('hunter2');
});
