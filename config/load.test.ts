import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tempDir } from '../src/testing/fakes.ts';
import { type LoadedConfig, type LoadOptions, loadConfig } from './load.ts';
import { ConfigError, formatProblem, type Problem } from './problem.ts';

const telegram = z.strictObject({
  token_env: z.string().default('TELEGRAM_BOT_TOKEN'),
  mode: z.enum(['poll', 'webhook']).default('poll'),
});
const email = z.strictObject({ imap_host: z.string(), from_address: z.string() });

function options(dir: string, extra: Partial<LoadOptions> = {}): LoadOptions {
  const schemas: Record<string, z.ZodType> = { cli: z.strictObject({}), telegram, email };
  return {
    cwd: dir,
    home: join(dir, 'home'),
    env: {},
    channelTypes: Object.keys(schemas),
    channelSettings: async (type) => schemas[type],
    ...extra,
  };
}

async function load(text: string, extra: Partial<LoadOptions> = {}): Promise<LoadedConfig> {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'c.json'), text);
  return await loadConfig(options(dir.path, { file: 'c.json', ...extra }));
}

async function problemsOf(text: string, extra: Partial<LoadOptions> = {}): Promise<readonly Problem[]> {
  try {
    return (await load(text, extra)).warnings;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** `line:col path: message` with the hint, without the file. */
function brief(problems: readonly Problem[]): string[] {
  return problems.map(({ line, col, path, message, hint }) => `${line}:${col} ${path}: ${message}${hint ? ` → ${hint}` : ''}`);
}

test('two channels of one type with one token are an error, and with two they are not', async () => {
  const two = (name: string, token: string) => ({ type: 'telegram', name, settings: { token_env: token } });
  const config = (...channels: object[]) => JSON.stringify({ gateway: { channels } });
  expect(brief(await problemsOf(config(two('one', 'A'), two('two', 'A')))).join()).toMatch(
    /channels\[1\]\.settings\.token_env: A is the token of gateway\.channels\[0\] already.*→ give each bot a token of its own/,
  );
  expect(await problemsOf(config(two('one', 'A'), two('two', 'B')))).toEqual([]);
});

test('two channels with one token at one address are an error, however the address is written', async () => {
  const schema = telegram.extend({ api_root: z.url() });
  const at = (name: string, api_root: string) => ({ type: 'telegram', name, settings: { token_env: 'A', api_root } });
  const told = async (one: string, other: string) =>
    brief(
      await problemsOf(JSON.stringify({ gateway: { channels: [at('one', one), at('two', other)] } }), {
        channelSettings: async () => schema,
      }),
    ).join();
  expect(await told('https://bots.example', 'https://BOTS.example/')).toMatch(/A is the token of gateway\.channels\[0\] already/);
  expect(await told('https://bots.example', 'https://other.example/')).toBe('');
});

test('an entry of allowed_groups that no group can equal is told', async () => {
  const groups = (...allowed_groups: string[]) =>
    problemsOf(JSON.stringify({ gateway: { channels: [{ type: 'telegram', allowed_groups }] } }), {
      groupIds: async () => /^-\d/,
    });
  expect(await groups('*', '-100')).toEqual([]);
  expect(brief(await groups('*', '!-100')).join()).toMatch(/keeps no group out.*gatehouse people block/);
  expect(brief(await groups('my group')).join()).toMatch(/lets no group in/);
});

test('an address of mail with a capital letter in allowed_senders is told: it lets no person in', async () => {
  const told = async (type: string, ...allowed_senders: string[]) =>
    brief(await problemsOf(JSON.stringify({ gateway: { channels: [{ type, allowed_senders }] } }))).join();
  expect(await told('email', 'Ada@Example.com')).toMatch(/allowed_senders\[0\]: is no person.*write "ada@example.com"/);
  expect(await told('telegram', 'Ada')).not.toContain('is no person');
  expect(await told('email', '*', 'ada@example.com')).not.toContain('is no person');
});

test('a secret in the file is named as one, and a list of another program by its name here', async () => {
  const secret = await problemsOf(
    '{"api_key": "sk-canary", "gateway": {"channels": [{"type": "telegram", "botToken": "1:canary"}]}}',
  );
  expect(brief(secret)).toEqual([
    expect.stringMatching(/api_key: unknown key, ignored; it holds a secret → remove the secret .*gatehouse auth set-key/),
    expect.stringMatching(/botToken: unknown key, ignored; it holds a secret/),
  ]);
  expect(JSON.stringify(secret)).not.toContain('canary');
  const lists = await problemsOf('{"gateway": {"channels": [{"type": "telegram", "allowFrom": ["1"]}]}}');
  expect(brief(lists).join()).toMatch(/allowFrom: .*did you mean "allowed_senders"\?/);
});

describe('which file', () => {
  test('the file of the last start is taken where no other is found', async () => {
    await using dir = await tempDir();
    const last = join(dir.path, 'last.json');
    expect((await loadConfig(options(dir.path, { last }))).file).toBeUndefined();
    await writeFile(last, '{}');
    expect((await loadConfig(options(dir.path, { last }))).file).toBe(last);
    await mkdir(join(dir.path, '.gatehouse'));
    await writeFile(join(dir.path, '.gatehouse/config.json'), '{}');
    expect((await loadConfig(options(dir.path, { last }))).file).toBe(join(dir.path, '.gatehouse/config.json'));
  });

  test('without any file the defaults of the specification apply', async () => {
    await using dir = await tempDir();
    const { config, file, warnings } = await loadConfig(options(dir.path));
    expect({ file, warnings }).toEqual({ file: undefined, warnings: [] });
    expect(config).toEqual({
      version: 1,
      fallback_models: [],
      models: {},
      purposes: {},
      questions: { remind_after_hours: 24 },
      thinking: 'auto',
      require_model: false,
      log: { level: 'info' },
      gateway: {
        channels: [
          {
            type: 'cli',
            allowed_senders: [],
            allowed_groups: [],
            group_mode: 'mention',
            group_patterns: [],
            streaming: 'edit',
            settings: {},
          },
        ],
        max_history: 50,
        annotate: false,
        show_thinking: false,
        compaction: true,
        owner: [],
        max_sessions: 1000,
        max_concurrent_sessions: 10,
        queue_mode: 'followup',
        auto_escalation: false,
        llm_timeout_secs: 300,
        llm_thinking_timeout_secs: 300,
        llm_connect_timeout_secs: 10,
        tool_timeout_secs: 600,
        session_timeout_secs: 1800,
        max_attempts: 3,
        max_message_age_hours: 24,
        answer_expiry_hours: 24,
        high_water: 10000,
        bus_capacity: 256,
        http: { host: '127.0.0.1' },
        webhooks: { host: '127.0.0.1', port: 7781 },
      },
      disk: { person_mb: 2048, total_mb: 20480, reserve_mb: 256 },
      limits: { person_mb: 16, chat_mb: 8, total_mb: 256 },
      tasks: {
        ...{ max_running: 5, keep_days: 30, max_iterations: 10, step_timeout_secs: 300, timeout_secs: 1_800 },
        ...{ max_parallel_tool_calls: 5, notify: {} },
      },
      hooks: [],
      heartbeat: { every_minutes: 30, max_a_day: 48 },
      security: { accept: [] },
      subagents: {
        ...{ max_at_once: 10, max_of_request: 20, max_tokens_of_request: 10_000_000 },
        mcp_isolation: { dispatch_subagent: 'per-subagent', spawn: 'shared' },
      },
      tool_policy: { allow: [], deny: [], require_tags: [], mode: 'guarded', members: [], guests: [], senders: {} },
      tool_policy_by_provider: {},
      web: {
        web_fetch: { allow_domains: [], deny_domains: [] },
        browser: { allow_domains: [], deny_domains: [] },
        web_search: {},
      },
      context_filter: [],
      mcp_servers: {},
      mcp_clients: {},
    });
  });

  test('the file of the working directory wins over the one of the home directory, and nothing is merged', async () => {
    await using dir = await tempDir();
    const home = join(dir.path, 'home', '.config', 'gatehouse');
    await mkdir(home, { recursive: true });
    await writeFile(join(home, 'config.json'), '{"model": "home", "max_iterations": 7}');
    expect((await loadConfig(options(dir.path))).config.model).toBe('home');
    await mkdir(join(dir.path, '.gatehouse'));
    await writeFile(join(dir.path, '.gatehouse', 'config.json'), '{"model": "cwd"}');
    const { config, file } = await loadConfig(options(dir.path));
    expect(file).toBe(join(dir.path, '.gatehouse', 'config.json'));
    expect([config.model, config.max_iterations]).toEqual(['cwd', undefined]);
  });

  test('a file named with --config must exist', async () => {
    await using dir = await tempDir();
    const missing = loadConfig(options(dir.path, { file: 'absent.json' }));
    await expect(missing).rejects.toMatchObject({ code: 'GH1102', message: expect.stringContaining('absent.json') });
    await expect(loadConfig(options(dir.path, { file: '.' }))).rejects.toMatchObject({ code: 'GH1102' });
  });
});

describe('problems', () => {
  test('a chat of the owner must be on a channel there is, which is told by its name', async () => {
    const channels = '[{ "type": "telegram", "name": "family", "settings": { "token_env": "TG" } }, { "type": "cli" }]';
    const owner =
      '[{ "channel": "famly", "chat_id": "1" }, { "channel": "telegram", "chat_id": "1" }, { "channel": "cli", "chat_id": "local" }]';
    expect(brief(await problemsOf(`{"gateway": {"channels": ${channels}, "owner": ${owner}}}`))).toEqual([
      expect.stringMatching(
        /gateway\.owner\[0\]\.channel: "famly" is not known; it must be one of: family, cli → did you mean "family"/,
      ),
      expect.stringMatching(/gateway\.owner\[1\]\.channel: "telegram" is not known; it must be one of: family, cli/),
    ]);
  });

  test('all problems of a file are named at once, each with its line, column and a suggestion', async () => {
    const text = `{
  "modle": "x",
  "max_history": 4,
  "log": { "level": "inof" },
  "gateway": {
    "max_concurrent_sessions": "10",
    "queue_mode": "stear",
    "channels": [
      { "type": "telegarm", "allowed_senders": [123] },
      { "type": "telegram", "token_env": "TG", "settings": { "mode": "pol" } },
      { "type": "telegram" },
      { "type": "email", "settings": { "imap_host": "h" } }
    ]
  }
}`;
    expect(brief(await problemsOf(text))).toEqual([
      '2:3 modle: unknown key, ignored → did you mean "model"?',
      '3:3 max_history: unknown key, ignored → "max_history" belongs under "gateway"',
      '4:21 log.level: "inof" is not known; it must be one of: debug, info, warn, error → did you mean "info"?',
      '6:32 gateway.max_concurrent_sessions: must be a number → remove the double quotes',
      '7:19 gateway.queue_mode: "stear" is not known; it must be one of: followup, collect, steer, interrupt, speculative, spec → did you mean "steer"?',
      '9:17 gateway.channels[0].type: "telegarm" is not known; it must be one of: cli, telegram, email → did you mean "telegram"?',
      '9:49 gateway.channels[0].allowed_senders[0]: must be text in double quotes → put it in double quotes: "123"',
      '10:29 gateway.channels[1].token_env: unknown key, ignored → "token_env" belongs in "settings" of this channel',
      '10:70 gateway.channels[1].settings.mode: "pol" is not known; it must be one of: poll, webhook → did you mean "poll"?',
      '11:7 gateway.channels[2]: a channel named "telegram" exists already → give each channel of the same type its own "name"',
      '12:38 gateway.channels[3].settings.from_address: is missing; it must be text in double quotes',
    ]);
  });

  test('a pattern of a group that a message could make slow is refused with its place and a hint', async () => {
    const patterns = '["\\\\brobot\\\\b", "(a+)+$", "["]';
    expect(brief(await problemsOf(`{"gateway": {"channels": [{"type": "cli", "group_patterns": ${patterns}}]}}`))).toEqual([
      expect.stringMatching(
        /group_patterns\[1\]: takes too long on some texts: one message could stop .* → avoid a repeat in a repeat/,
      ),
      expect.stringMatching(/group_patterns\[2\]: must be a regular expression/),
    ]);
  });

  test('voice notes of a group are listened to only where words can come of them, and a name to look for is given', async () => {
    const entry = (more: string): string => `"gateway": {"channels": [{"type": "telegram", "group_voice": true${more}}]}`;
    expect(brief(await problemsOf(`{${entry('')}}`))).toEqual([
      '1:63 gateway.channels[0].group_voice: needs the section "transcription" → add it, or remove group_voice',
      '1:63 gateway.channels[0].group_voice: needs "group_patterns" → add what the agent is called, for example "\\\\brobot\\\\b"',
    ]);
    const whole = `{"transcription": {"kind": "command", "command": ["whisper"]}, ${entry(', "group_patterns": ["robot"]')}}`;
    expect(brief(await problemsOf(whole))).toEqual([]);
  });

  test('a channel, a sender and a purpose name a model that there is', async () => {
    const named = (models: string) =>
      `{${models}"purposes": {"job": "fats"}, "gateway": {"channels": [{"type": "cli", "model": "fast", "sender_models": {"u": "deep"}}]}}`;
    expect(brief(await problemsOf(named('"models": {"fast": {"provider": "groq"}}, ')))).toEqual([
      '1:64 purposes.job: "fats" is not known; it must be one of: fast → did you mean "fast"?',
      expect.stringContaining('gateway.channels[0].sender_models.u: "deep" is not known; it must be one of: fast'),
    ]);
    expect(brief(await problemsOf(named('')))).toEqual([
      '1:22 purposes.job: must be a name in "models", and there is none → add the section "models"',
      expect.stringContaining('channels[0].model: must be a name in "models"'),
      expect.stringContaining('channels[0].sender_models.u: must be a name in "models"'),
    ]);
  });

  test.each([
    ['"extra_headers": {"Authorization": "Bearer x"}', 'is not for extra_headers; name the variable of a key in api_key_env'],
    ['"extra_headers": {"X-Api-Key": "x"}', 'is not for extra_headers'],
    ['"extra_headers": {"cookie": "x"}', 'is not for extra_headers'],
    ['"extra_headers": {"a b": "x"}', 'must be a header name'],
    ['"extra_body": {"max_tokens": 9}', 'is set by Gatehouse and cannot be in extra_body'],
    ['"extra_body": {"messages": []}', 'is set by Gatehouse and cannot be in extra_body'],
    ['"models": {"default": {"provider": "groq"}}', 'and not "default"'],
    ['"api_key_env": "$OPENAI_API_KEY"', 'must be the name of an environment variable, written without the $'],
    ['"api_key_envs": ["sk-not-a-name"]', 'must be the name of an environment variable, not the secret itself'],
  ])('%s is refused, and no value is repeated', async (entry, message) => {
    const [problem, ...more] = await problemsOf(`{${entry}}`);
    expect([problem?.message.includes(message), more]).toEqual([true, []]);
    expect(JSON.stringify(problem?.message)).not.toMatch(/Bearer|sk-not/);
  });

  test('a problem is shown with its source line and a caret below the place', async () => {
    const [problem] = await problemsOf('{\n  "log": { "level": "inof" }\n}');
    expect(
      formatProblem(problem as Problem)
        .split('\n')
        .slice(1),
    ).toEqual(['  2 |   "log": { "level": "inof" }', '    |                     ^^^^^^', '  → did you mean "info"?']);
  });

  test('in a minified file only the part around the place is shown', async () => {
    const [problem] = await problemsOf(`{"gateway":{"system_prompt":"${'long '.repeat(100)}","queue_mod":"followup"}}`);
    const { source, caret } = problem?.excerpt ?? { source: '', caret: '' };
    expect(source.length).toBeLessThanOrEqual(100);
    expect(source.slice(caret.indexOf('^'), caret.lastIndexOf('^') + 1)).toBe('"queue_mod"');
  });

  test.each([
    ['{"a": 1,}', '1:8', '"," before "}"'],
    ['{\n"a": 1\n"b": 2}', '3:1', '"," or "}"'],
    ["{'a': 1}", '1:2', 'double quotes'],
    ['{ // note\n}', '1:3', 'no comments'],
    ['{"a": tru}', '1:7', 'expected a value'],
    ['{"a": "x\n"}', '1:7', 'not closed'],
    ['{"a": "\\q"}', '1:8', 'escape'],
    ['{} {}', '1:4', 'more text'],
    ['', '1:1', 'empty'],
    ['{"gateway": {', '1:14', 'file ends'],
    ['{"a": 01}', '1:8', '"," or "}"'],
    ['['.repeat(100_000), '1:66', 'nested deeper'],
  ])('the syntax error in %.20j is at %s', async (text, place, message) => {
    const [problem, ...more] = await problemsOf(text);
    expect(more).toEqual([]);
    expect(`${problem?.line}:${problem?.col}`).toBe(place);
    expect(`${problem?.message}`).toContain(message);
  });

  test('a key written twice is an error', async () => {
    expect(brief(await problemsOf('{"model": "a",\n "model": "b"}'))).toEqual([
      '2:2 : the key "model" is written twice in this object → keep one',
    ]);
  });

  test('a byte that is no UTF-8 is an error, and a byte order mark is not', async () => {
    await using dir = await tempDir();
    await writeFile(join(dir.path, 'c.json'), Buffer.from([0x7b, 0xff, 0x7d]));
    await expect(loadConfig(options(dir.path, { file: 'c.json' }))).rejects.toMatchObject({ code: 'GH1101' });
    expect((await load('\ufeff{"model": "m"}')).config.model).toBe('m');
  });

  test('a document that is no object is an error', async () => {
    expect(brief(await problemsOf('[]'))).toEqual(['1:1 : must be an object in { }']);
  });

  test('a word that may be meant as a limit of spending or access stops the start', async () => {
    const said = async (text: string): Promise<string[]> => brief(await problemsOf(text));
    expect(await said('{"budget": {"daly_usd": 1}}')).toEqual([
      '1:13 budget.daly_usd: unknown key: no limit is set by it → did you mean "daily_usd"?',
    ]);
    expect(await said('{"budget": {"per_day": 1}}')).toMatchObject([expect.stringContaining('per_day: unknown key: no limit')]);
    expect(await said('{"budgt": {"daily_usd": 1}}')).toMatchObject([expect.stringContaining('did you mean "budget"?')]);
    expect(await said('{"caps": {"daily_usd": 1}}')).toMatchObject([expect.stringContaining('caps: unknown key: no limit')]);
    expect(await said('{"limits": {"daily_usd": 1}}')).toMatchObject([
      expect.stringContaining('"daily_usd" belongs under "budget"'),
    ]);
    expect(await said('{"daily_usd": 1}')).toMatchObject([expect.stringContaining('"daily_usd" belongs under "budget"')]);
    expect(await said('{"max_iteration": 3}')).toMatchObject([expect.stringContaining('unknown key: no limit is set')]);
    for (const [key, value] of Object.entries({ budget: '{"daily_usd": 1}', max_iterations: '3', require_model: 'true' })) {
      const misplaced = `gateway.${key}: unknown key: no limit is set by it → "${key}" belongs at the top level`;
      expect(await said(`{"gateway": {"${key}": ${value}}}`)).toMatchObject([expect.stringContaining(misplaced)]);
    }
    const entry = '{"gateway": {"channels": [{"type": "telegram", "settings": {"token_env": "T"}, "allowed_sender": ["1"]}]}}';
    expect(await said(entry)).toMatchObject([expect.stringContaining('did you mean "allowed_senders"?')]);
  });

  test("everyone let in on an account of one's own is warned about", async () => {
    const settings = z.strictObject({ self_chat: z.boolean().default(false) });
    const of = async (selfChat: boolean, senders: string[]) => {
      const channels = [{ type: 'mine', allowed_senders: senders, settings: { self_chat: selfChat } }];
      const options = { channelTypes: ['mine'], channelSettings: async () => settings };
      return (await load(JSON.stringify({ budget: { daily_usd: 1 }, gateway: { channels } }), options)).warnings.map(
        ({ path }) => path,
      );
    };
    const path = 'gateway.channels[0].allowed_senders';
    expect([await of(true, ['*']), await of(true, ['4917']), await of(false, ['*'])]).toEqual([[path], [], []]);
  });

  test('a misspelt self_chat stops the start: without it all friends of the account would get pairing codes', async () => {
    const settings = z.strictObject({ self_chat: z.boolean().default(false) });
    const extra = { channelTypes: ['whatsapp'], channelSettings: async () => settings };
    const entry = '{"gateway": {"channels": [{"type": "whatsapp", "settings": {"selfchat": true}}]}}';
    expect(await problemsOf(entry, extra)).toMatchObject([
      { severity: 'error', path: 'gateway.channels[0].settings.selfchat', hint: 'did you mean "self_chat"?' },
    ]);
  });

  test.each([
    '{"gateway": {"budget": {"daily_usd": 1}}}',
    '{"models": {"fast": {"provider": "openai", "budget": {"daily_usd": 1}}}}',
    '{"gateway": {"max_iterations": 1}}',
    '{"gateway": {"budgets": {"daily_usd": 1}}}',
    '{"models": {"fast": {"provider": "openai", "max_usd": 1}}}',
  ])('a limit in the wrong place stops the start: %s', async (text) => {
    expect(brief(await problemsOf(text))).toMatchObject([expect.stringContaining('unknown key: no limit is set by it')]);
  });

  test.each([
    ['{"skills": {"deny": ["shell"]}}', '"skills" here: remove'],
    ['{"limits": {"person_turn_at_once": 1}}', 'did you mean "person_turns_at_once"?'],
    ['{"limit": {"person_mb": 1}}', 'did you mean "limits"?'],
    ['{"disk": {"persn_mb": 1}}', 'did you mean "person_mb"?'],
    ['{"sandbox": {"required": true}}', 'known here: mode, allow_network'],
    ['{"hooks": [{"event": "message_in", "command": ["x"], "onerror": "deny"}]}', 'did you mean "on_error"?'],
    ['{"hook": []}', 'did you mean "hooks"?'],
    ['{"sandbox": {"allow_netwrk": false}}', 'did you mean "allow_network"?'],
    ['{"sandbx": {"mode": "bwrap"}}', 'did you mean "sandbox"?'],
    ['{"toolPolicy": {}}', 'did you mean "tool_policy"?'],
    ['{"mcpServers": {}}', 'did you mean "mcp_servers"?'],
    ['{"Plugin": []}', '"plugins" here: remove'],
    ['{"gateway": {"approvals": {}}}', '"approvals" here: remove'],
    ['{"http": {"host": "127.0.0.1"}}', '"http" belongs under "gateway"'],
    ['{"gateway": {"http": {"hots": "127.0.0.1"}}}', 'did you mean "host"?'],
    ['{"gateway": {"http": {"token": "x"}}}', '"http" here: remove'],
  ])('a word that may be meant as a protection stops the start: %s', async (text, hint) => {
    const problems = await problemsOf(text);
    expect(problems).toMatchObject([
      { severity: 'error', message: 'unknown key: nothing is protected by it', hint: expect.stringContaining(hint) },
    ]);
  });

  test('a word that is near a protection is only warned of where no protection can stand', async () => {
    const settings = '{"type": "telegram", "settings": {"hook": 1, "sandbox": 1}}';
    const { warnings } = await load(`{"gateway": {"channels": [${settings}], "autho": 1}, "later_section": {}}`);
    expect(warnings.map(({ path, severity }) => `${severity} ${path}`)).toEqual([
      'warning gateway.channels[0].settings.hook',
      'warning gateway.channels[0].settings.sandbox',
      'warning gateway.autho',
      'warning later_section',
    ]);
  });

  test('a heartbeat that is to be off is told the key that turns it off', async () => {
    const { warnings } = await load('{"heartbeat": {"enabled": false}}');
    expect(warnings.map(({ hint }) => hint)).toEqual(['to turn it off, set heartbeat.every_minutes to 0']);
  });

  test('a key named __proto__ is an unknown key like any other', async () => {
    const { config, warnings } = await load('{"__proto__": {"max_iterations": 1}, "log": {"__proto__": 1}}');
    expect(warnings.map((warning) => warning.path)).toEqual(['__proto__', 'log.__proto__']);
    expect(config.max_iterations).toBeUndefined();
  });

  test('M5 a limit for thinking beyond that of the call is warned of, because the call ends first', async () => {
    const { warnings } = await load('{"gateway": {"llm_thinking_timeout_secs": 600}}');
    expect(brief(warnings)).toEqual([
      '1:43 gateway.llm_thinking_timeout_secs: is longer than gateway.llm_timeout_secs (300), which ends the call first → set gateway.llm_timeout_secs to more than 600',
    ]);
    const fine = await load('{"gateway": {"llm_thinking_timeout_secs": 600, "llm_timeout_secs": 900}}');
    expect([fine.warnings, fine.config.gateway.llm_thinking_timeout_secs]).toEqual([[], 600]);
    expect((await load('{"gateway": {"llm_timeout_secs": 60}}')).warnings).toEqual([]);
  });

  test('max_history out of range is clamped with a warning', async () => {
    const { config, warnings } = await load('{"gateway": {"max_history": 5000}}');
    expect(config.gateway.max_history).toBe(1000);
    expect(brief(warnings)).toEqual(['1:29 gateway.max_history: must be between 1 and 1000; 1000 is used']);
  });

  test('an unknown provider is an error when the providers are known', async () => {
    const providers = new Map(['openai', 'ollama'].map((name) => [name, name] as const));
    expect(brief(await problemsOf('{"provider": "opnai"}', { providers }))).toEqual([
      '1:14 provider: "opnai" is not known; it must be one of: openai, ollama → did you mean "openai"?',
    ]);
    for (const known of ['ollama', 'OpenAI '])
      expect(await problemsOf(JSON.stringify({ provider: known }), { providers })).toEqual([]);
  });

  test.each(['followup', 'collect', 'steer', 'interrupt', 'speculative', 'spec'])('there is a queue mode %s', async (mode) => {
    const channels = `[{"type": "cli", "queue_mode": "${mode}"}]`;
    expect(await problemsOf(`{"gateway": {"queue_mode": "${mode}", "channels": ${channels}}}`)).toEqual([]);
  });
});

describe('version', () => {
  test('a file without version is version 1', async () => {
    expect((await load('{"model": "m"}')).config.version).toBe(1);
  });

  test('a newer version is refused with one clear line, not with a list of unknown keys', async () => {
    expect(brief(await problemsOf('{"version": 2, "new_thing": {}}'))).toEqual([
      '1:13 version: this file has version 2; this gatehouse understands version 1 → upgrade gatehouse, or use the config of this version',
    ]);
  });

  test.each(['"1"', '0', '1.5', 'null'])('version %s is refused', async (version) => {
    expect((await problemsOf(`{"version": ${version}}`)).map((problem) => problem.severity)).toEqual(['error']);
  });
});

describe('variables', () => {
  test('are replaced in any string value, with a default, and can be escaped', async () => {
    const text = `{"model": "\${M}", "gateway": {"system_prompt": "a \${X:-b} \${EMPTY:-c} $\${M} $M", "channels": [{"type": "telegram", "allowed_senders": ["\${ME}"], "settings": {"token_env": "\${T}"}}]}}`;
    const { config, warnings } = await load(text, { env: { M: 'gpt', ME: '42', EMPTY: '', T: 'TG' } });
    expect(warnings).toEqual([]);
    expect(config.model).toBe('gpt');
    expect(config.gateway.system_prompt).toBe(`a b c \${M} $M`);
    expect(config.gateway.channels[0]).toMatchObject({ allowed_senders: ['42'], settings: { token_env: 'TG', mode: 'poll' } });
  });

  test('an unset one becomes empty, with a warning that names it and its place', async () => {
    const { config, warnings } = await load(`{"gateway": {"system_prompt": "x\${NOPE}y"}}`);
    expect(config.gateway.system_prompt).toBe('xy');
    expect(brief(warnings)).toEqual([
      `1:31 gateway.system_prompt: the environment variable NOPE is not set; this is empty now → export NOPE=…, or write \${NOPE:-default}`,
    ]);
  });

  test('a number cannot come from one, and the message says so', async () => {
    expect(brief(await problemsOf(`{"max_iterations": "\${N}"}`, { env: { N: '5' } }))).toEqual([
      '1:20 max_iterations: must be a number → a variable always gives text; write the value itself here',
    ]);
  });
});

test.each(['https://api.openai.com/v1/chat/completions', 'http://127.0.0.1:8000/v1/responses/'])(
  'the whole address of a call is no base_url: %s',
  async (url) => {
    expect(brief(await problemsOf(JSON.stringify({ base_url: url })))).toEqual([
      expect.stringContaining('base_url: must end before the name of the call, which is added: https://host/v1'),
    ]);
  },
);

describe('A29 no problem shows a secret', () => {
  test.each([
    ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet-20241022'],
    ['accounts/fireworks/routers/deepseek-v4p1-flash-1017-spot', 'accounts/fireworks/routers/deepseek-v4p1-flash-1017-spot'],
    ['sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA', '*'.repeat(38)],
    ['3f2b8c1e-9a47-4d10-8e55-0c6f7a1b2d3e', '*'.repeat(36)],
  ])('a model is named in the marked line, and a key in its place is not: %s', async (model, shown) => {
    const { warnings } = await load(`{"model": "${model}", "nonsense": 1}`);
    expect(warnings[0]?.excerpt?.source).toContain(`"model": "${shown}"`);
  });

  const canary = 'sk-canary0123456789abcdefXYZ';
  test.each([
    [`{"api_key_env": "${canary}"}`, {}],
    [`{"gateway": {"channels": [{"type": "telegram", "token": "hunter2pass", "settings": {"bot_token": "hunter2pass"}}]}}`, {}],
    [`{"log": {"level": "${canary}"}}`, {}],
    [`{"log": {"level": "\${SECRET}"}, "provider": "\${SECRET}", "base_url": "\${SECRET}"}`, { SECRET: canary }],
    [`{"base_url": "https://user:${canary}@example.org"}`, {}],
    [`{"token": "${canary}`, {}],
    [`{"a": 1, "token" : "hunter2pass", "b": }`, {}],
    [`{"password": "hunter2pass\n`, {}],
    [`{"x": "\\"${canary}", "y" 1}`, {}],
  ])('%s', async (text, env) => {
    const problems = await problemsOf(text, { env, providers: new Map([['openai', 'openai']]) });
    expect(problems.length).toBeGreaterThan(0);
    const shown = JSON.stringify(problems) + problems.map(formatProblem).join();
    expect(shown).not.toContain(canary);
    expect(shown).not.toContain('hunter2pass');
  });

  test('the message of a rejected key says what belongs there instead', async () => {
    expect(brief(await problemsOf(`{"api_key_env": "${canary}"}`))).toEqual([
      '1:17 api_key_env: must be the name of an environment variable, not the secret itself',
    ]);
  });
});
