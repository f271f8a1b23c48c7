import type { LoginUi } from '../../core/channel.ts';
import { printableBlock } from '../../lib/printable.ts';
import { type Command, type CommandContext, dataDirOf, envOf, readConfig, sayWarnings } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { drawQr, encodeQr } from '../qr-code.ts';

/**
 * Logs in to the account of a channel: shows a QR code that is drawn again in its place when the platform
 * changes it, or what to type. Rejects as the channel does; nothing is changed then.
 */
export const channelsLogin: Command<{ readonly name: string }> = async (context, { name }) => {
  const { deps, out } = context;
  const loaded = await readConfig(context);
  sayWarnings(context, loaded);
  const dataDir = dataDirOf(context);
  await deps.loginChannel({
    config: loaded.config,
    dataDir,
    env: await envOf(context),
    name,
    ui: terminalUi(context),
    signal: new AbortController().signal,
  });
  out.document({ channel: name });
  out.say('→ restart the daemon if it runs');
  return EXIT.ok;
};

function terminalUi({ deps, out }: CommandContext): LoginUi {
  const { stderr } = deps.stdio;
  /** Lines of the code that is on the screen with nothing below it. */
  let drawn = 0;
  return {
    say: (text) => {
      drawn = 0;
      out.say(printableBlock(text));
    },
    qr: (content) => {
      // Not a terminal: another program may draw it, e.g. `qrencode`.
      if (stderr.isTTY !== true) return out.say(`QR code: ${printableBlock(content)}`);
      const lines = drawQr(encodeQr(content));
      const columns = 'columns' in stderr && typeof stderr.columns === 'number' ? stderr.columns : undefined;
      // Every module is one column.
      const width = lines[0]?.split('▀').length ?? 0;
      const narrow = columns !== undefined && columns < width;
      const advice = narrow
        ? `This terminal has ${columns} columns and the code needs ${width}: make it wider, or set pairing_phone to type a code instead.`
        : 'On the phone: WhatsApp > Linked devices > Link a device, and scan this code. It changes from time to time.';
      if (drawn > 0) stderr.write(`\u001b[${drawn}A\u001b[J`);
      stderr.write(`${lines.join('\n')}\n${advice}\n`);
      drawn = lines.length + 1;
    },
  };
}
