import { GatehouseError } from '../../core/errors.ts';
import { printable } from '../../lib/printable.ts';
import type { SimulatorInfo } from '../../simulator/options.ts';
import type { Command } from '../context.ts';
import type { Output } from '../output.ts';
import { shellWord } from '../shell-word.ts';

export interface SimulateFlags {
  readonly channel: string;
  readonly port: string;
  readonly fault: readonly string[];
  readonly strangers?: boolean;
  readonly run?: boolean;
}

/** Runs a platform of this machine to chat on, until it is stopped. */
export const simulate: Command<SimulateFlags> = ({ deps, out, globals }, { channel, port, fault, strangers, run }) =>
  deps.simulate(
    {
      channel,
      port: portOf(port),
      faults: fault.map(faultOf),
      strangers: strangers === true,
      run: run === true,
      verbose: globals.verbose === true,
    },
    (about) => announce(out, about, { channel, strangers: strangers === true, runs: run === true, command: deps.command }),
  );

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new GatehouseError('GH1001', `"${printable(text.slice(0, 20))}" is not a port`, {
    hint: 'a port is a number from 0 to 65535',
  });
}

/** `limit` or `limit:3`. Whether the platform can play it is the platform's to say. */
function faultOf(text: string): { readonly kind: string; readonly times: number } {
  const [, kind, times] = /^([a-z-]+)(?::(\d{1,4}))?$/.exec(text) ?? [];
  if (kind !== undefined) return { kind, times: times === undefined ? 1 : Number(times) };
  throw new GatehouseError('GH1001', `"${printable(text.slice(0, 40))}" is not a fault`, {
    hint: 'write it like `limit` or `limit:3`',
  });
}

interface Asked {
  readonly channel: string;
  readonly strangers: boolean;
  readonly runs: boolean;
  /** Runs this program. */
  readonly command: string;
}

function announce(out: Output, about: SimulatorInfo, { channel, strangers, runs, command }: Asked): void {
  const { url, config, configFile, dataDir, env, faults, needsFirstStart } = about;
  out.document({ channel, url, faults, config, configFile, dataDir, env, daemon: runs });
  const json = "-H 'content-type: application/json'";
  out.data(`${out.mark('ok')} ${channel} on this machine: ${out.paint('bold', url)}`);
  out.data('');
  const places = `--config ${shellWord(configFile)} --data-dir ${shellWord(dataDir)}`;
  if (runs) {
    out.data('A daemon runs on it. In another terminal:\n');
    out.data(`  ${command} status --data-dir ${shellWord(dataDir)}`);
    out.data(`  ${command} channels status ${places}\n`);
  } else {
    out.data(`In another terminal:\n`);
    for (const [name, value] of Object.entries(env)) out.data(`  export ${name}=${shellWord(value)}`);
    out.data(`  ${command} gateway ${places}\n`);
    out.data(`or put this into a config of your own:\n\n${JSON.stringify(config, null, 2)}\n`);
    if (needsFirstStart) out.data('Start it before you write: it answers nothing that is older than its first start.\n');
  }
  if (strangers) {
    out.data('No person is let in yet; one who writes is given a code. Let them in:\n');
    out.data(`  ${command} pair approve CODE --data-dir ${shellWord(dataDir)}\n`);
  }
  out.data('Without a browser:\n');
  out.data(`  curl -s ${url}/people/0/messages ${json} -d '{"text":"hi"}'`);
  out.data(`  curl -s ${url}/messages`);
  out.data(`  curl -sN ${url}/events`);
  const [first] = faults;
  if (first !== undefined)
    out.data(`  curl -s ${url}/faults ${json} -d '{"kind":"${first}","times":3}'    # ${faults.join(', ')}`);
  out.say('\nCtrl-C ends it and removes what it made');
}
