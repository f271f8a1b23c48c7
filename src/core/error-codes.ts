/**
 * Every error code with its meaning and the usual way out. Shared by log, chat, CLI and JSON;
 * `docs/errors.md` is compared with this table by a test. GH10 command line, GH11 config, GH12 data
 * directory, GH13 journal, GH14 sessions, GH15 channels and media, GH16 delivery, GH17 schedules, GH20 agent
 * and tools, GH21 models, GH22 logins, GH23 MCP servers, GH24 plugins.
 */
export const ERROR_CODES = {
  GH1001: { title: 'unknown command or option', hint: 'run `gatehouse --help`' },
  GH1002: { title: 'the daemon does not answer or is not running', hint: 'start it with `gatehouse gateway`' },
  GH1003: { title: 'no such item', hint: 'list what there is with the `list` command of the same group' },
  GH1004: {
    title: 'unexpected failure, or a port that is taken',
    hint: 'where the message names a port, stop what listens there or choose another; else run again with `-v` and report the log lines with this code',
  },
  GH1005: {
    title: 'refused because something would be overwritten',
    hint: 'name another place, or `--force` where the command has it',
  },
  GH1006: { title: 'a part of the daemon did not end in time', hint: 'nothing is lost; report the log lines with this code' },
  GH1007: {
    title: 'a failure that no part of the program expected',
    hint: 'report the log lines with this code',
  },
  GH1008: { title: 'the config lets this person in', hint: 'keep them out with `gatehouse people block`' },
  GH1009: { title: 'the daemon runs, and something is not well', hint: 'see `gatehouse status`' },
  GH1010: { title: 'left before the end', hint: 'run the command again' },
  GH1101: { title: 'the config file has problems', hint: 'fix the lines named above; `gatehouse config check` shows them again' },
  GH1102: { title: 'the config file cannot be read', hint: 'check the path and its permissions' },
  GH1103: { title: 'a secret named in the config is not set', hint: 'export the environment variable named above' },
  GH1104: { title: 'no model is configured', hint: 'export a provider key, start ollama, or run `gatehouse setup`' },
  GH1105: {
    title: 'the package that a provider needs is not installed',
    hint: 'run `gatehouse models add-provider gemini`, then start again',
  },
  GH1106: {
    title: 'packages could not be installed',
    hint: 'see what the message names; nothing was changed',
  },
  GH1107: {
    title: 'the service could not be set up',
    hint: 'see docs/install.md for the ways to run the daemon',
  },
  GH1201: { title: 'another gatehouse uses this data directory', hint: 'stop it, or give this one its own `--data-dir`' },
  GH1202: { title: 'the data directory cannot be written', hint: 'check its owner and mode, and that the disk is not read-only' },
  GH1301: { title: 'the journal cannot be written', hint: 'free disk space; the daemon goes on by itself' },
  GH1302: {
    title: 'the journal file is damaged or the disk failed',
    hint: 'stop, check the disk, restore a backup of journal.db as docs/upgrade.md says',
  },
  GH1303: {
    title: 'the journal was written by a newer version',
    hint: 'upgrade gatehouse, or go back as docs/upgrade.md says; this version leaves the file untouched',
  },
  GH1304: {
    title: 'the record of decisions is damaged or was changed',
    hint: 'see `gatehouse people audit --verify`, and compare the journal with a backup',
  },
  GH1401: {
    title: 'a session file cannot be read or written',
    hint: 'check the mode of the sessions directory and free disk space',
  },
  GH1402: { title: 'a session file was written by a newer version', hint: 'upgrade gatehouse, or move the file away' },
  GH1501: { title: 'the platform refused the credentials', hint: 'check the token or password of this channel' },
  GH1502: { title: 'the platform cannot be reached', hint: 'check host, DNS and TLS; the channel retries by itself' },
  GH1503: { title: 'another program polls with the same credentials', hint: 'stop the other one, or use a second bot token' },
  GH1504: { title: 'a file is larger than the channel may carry', hint: 'send a smaller file' },
  GH1505: { title: 'a file could not be fetched from the platform', hint: 'send it again' },
  GH1506: { title: 'unknown channel type', hint: 'see `gatehouse config schema` for the types there are' },
  GH1507: { title: 'a picture would take too much memory to open', hint: 'send it smaller' },
  GH1508: {
    title: 'there is no room for a file',
    hint: 'the operator can raise the limits in section `disk` of the config, or make room on the disk',
  },
  GH1509: {
    title: 'so much waits that a platform is asked to hold its messages',
    hint: 'see in `gatehouse status` whether a model or a channel does not work; section `limits` of the config and `gateway.high_water` bound what waits',
  },
  GH1510: {
    title: 'the package that a channel needs is not installed',
    hint: 'run the `gatehouse channels add` command that the message names, then start again',
  },
  GH1601: { title: 'an answer could not be delivered', hint: 'see `gatehouse dead show`' },
  GH1602: { title: 'an answer may or may not have arrived', hint: 'look in the chat; `gatehouse status` counts these' },
  GH1701: {
    title: 'a schedule cannot be read, or would never fire',
    hint: 'see docs/schedules.md for what it may say; `gatehouse cron add --help` shows examples',
  },
  GH1702: { title: 'the job is not allowed', hint: 'ask the owner, or remove a job that is no longer needed' },
  GH1703: {
    title: 'a job could not begin',
    hint: 'see `gatehouse cron list --all`, and this code in the log of the daemon (standard error, `journalctl -u gatehouse`)',
  },
  GH1710: { title: 'the task is not allowed', hint: 'ask the owner, or wait until some of your tasks are over' },
  GH1711: { title: 'the task cannot be', hint: 'see docs/tasks.md for what a task may say' },
  GH2002: { title: 'the turn was given up after repeated crashes', hint: 'see `gatehouse dead show`' },
  GH2003: {
    title: 'the turn failed inside the gateway',
    hint: 'see this code in the log of the daemon (standard error, `journalctl -u gatehouse`)',
  },
  GH2010: { title: 'a program could not be started', hint: 'see what the message says; `gatehouse status` shows the sandbox' },
  GH2011: {
    title: 'the process that runs programs ended or does not answer',
    hint: 'it is started again by the next call; where it is a service, see `journalctl -u gatehouse-tools`',
  },
  GH2012: {
    title: 'no sandbox works here, so no tool runs programs',
    hint: 'on Debian `apt-get install bubblewrap`; `gatehouse status` shows what was tried',
  },
  GH2013: { title: 'packages that a tool needs are not installed', hint: 'run the command that the log names, then start again' },
  GH2014: {
    title: 'a program was ended, because it held more memory than it may',
    hint: 'the operator can raise sandbox.memory_mb in the config',
  },
  GH2101: {
    title: 'the model refused the key',
    hint: 'set the right one with `gatehouse auth set-key PROVIDER`, or in its variable, and restart the daemon',
  },
  GH2102: { title: 'the model is rate limited', hint: 'wait a moment and ask again' },
  GH2103: { title: 'the model is overloaded or failing', hint: 'ask again in a minute' },
  GH2104: { title: 'the model cannot be reached', hint: 'check base_url and the network' },
  GH2105: { title: 'the model did not answer in time', hint: 'ask again, or raise gateway.llm_timeout_secs' },
  GH2106: {
    title: 'the model rejected the request',
    hint: 'see the log for what it rejected; after a 404 or a web page check base_url',
  },
  GH2107: { title: 'the conversation is too long for the model', hint: 'start afresh with /new' },
  GH2108: { title: 'the model returned nothing', hint: 'ask again in other words' },
  GH2109: {
    title: 'the answer was broken off or malformed',
    hint: 'ask again; when no answer ever comes, check that base_url is the address of the API',
  },
  GH2110: { title: 'the provider wants payment', hint: 'add credit at the provider; what was given up: `gatehouse dead list`' },
  GH2111: { title: 'the answer was withheld by the provider', hint: 'ask in other words' },
  GH2112: { title: 'the spending limit is reached', hint: 'wait for the next day, or raise the limit in the config' },
  GH2113: {
    title: 'the price of the model is unknown',
    hint: 'set its price in model_hints, or allow unknown prices in the config',
  },
  GH2114: { title: 'speech could not be transcribed', hint: 'send it as text, or check the transcription section of the config' },
  GH2115: { title: 'text could not be embedded', hint: 'check the embedding section of the config' },
  GH2117: {
    title: 'the provider does not have this model',
    hint: 'see `gatehouse models catalog` for the models there are, and set "model" in the config',
  },
  GH2118: {
    title: 'the provider refused permission',
    hint: "check the key's permissions, the account's content rules and whether your country is served",
  },
  GH2119: {
    title: 'the model ran out of room before it answered',
    hint: 'lower the level of thinking with /think low, or raise gateway.max_output_tokens',
  },
  GH2121: {
    title: 'a hook of the operator refused the model call',
    hint: 'the reason is in the log; see `hooks` in the config',
  },
  GH2201: { title: 'logging in failed', hint: 'run the command again' },
  GH2202: {
    title: 'the stored login cannot be used',
    hint: 'log in again: `gatehouse auth login`, for a mailbox `gatehouse channels login NAME`',
  },
  GH2203: { title: 'the stored login could not be renewed for now', hint: 'check the network; it is tried again' },
  GH2301: {
    title: 'a package that tools need is not installed',
    hint: 'run `gatehouse tools add mcp`, and start again',
  },
  GH2302: {
    title: 'an MCP server does not work',
    hint: 'see `gatehouse mcp test NAME`; the daemon tries it again by itself, and everything else goes on',
  },
  GH2303: {
    title: 'tools of an MCP server are not approved',
    hint: 'look at them with `gatehouse mcp test NAME`, then `gatehouse mcp approve NAME`',
  },
  GH2304: { title: 'an MCP server wants a login', hint: 'run `gatehouse mcp login NAME`' },
  GH2305: {
    title: 'the login at an MCP server does not reach far enough',
    hint: 'log in again with the permissions that the message names: `gatehouse mcp login NAME --scope SCOPE`',
  },
  GH2306: {
    title: 'MCP clients cannot reach the daemon',
    hint: 'see what the message names; docs/tools.md says how they connect',
  },
  GH2401: {
    title: 'a plugin cannot be used',
    hint: 'mend what the message names, or ask its author; docs/tools.md has the keys of plugin.json',
  },
  GH2402: {
    title: 'a plugin is not approved',
    hint: 'look at it and let the agent have it with `gatehouse plugins enable NAME`',
  },
  GH2403: {
    title: 'an archive cannot be taken for a plugin',
    hint: 'give a directory, or a .tar.gz of plain files and directories',
  },
} as const satisfies Record<string, { title: string; hint: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;
