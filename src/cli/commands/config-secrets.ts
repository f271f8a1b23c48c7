import { TOKEN_SETTINGS } from '../../../config/check-channels.ts';
import { valueAt } from '../../../config/check-value.ts';
import type { Finding } from '../../../config/problem.ts';
import type { Config } from '../../../config/schema.ts';
import { Secrets } from '../../app/secrets.ts';
import { refuseSharedTokens } from '../../app/shared-token.ts';
import { isGatehouseError } from '../../core/errors.ts';
import { unsetVariable } from '../../lib/environment-name.ts';
import { type CommandContext, envOf } from '../context.ts';

/** Settings that name a secret which their channel reads in every mode of it. */
const ALWAYS_READ = [...TOKEN_SETTINGS, 'app_id_env', 'app_secret_env', 'account_sid_env', 'auth_token_env', 'agent_secret_env'];

/**
 * Tokens that channels need and that are neither stored nor in this environment, which may not be the
 * daemon's: a warning. One token in two variables: an error, since a start with this environment is refused.
 */
export async function channelSecrets(context: CommandContext, { gateway }: Config): Promise<readonly Finding[]> {
  // A file of logins that cannot be trusted is told by the commands that need it.
  const env = await envOf(context).catch(() => context.deps.env);
  const found: Finding[] = [];
  const entries = gateway.channels.map((entry) => ({
    name: entry.name ?? entry.type,
    type: entry.type,
    settings: entry.settings,
  }));
  for (const [at, { name, settings }] of entries.entries()) {
    const path = ['gateway', 'channels', at];
    for (const key of neededBy(settings)) {
      const variable = valueAt(settings, [key]);
      if (typeof variable !== 'string' || env[variable]) continue;
      const { message, hint } = unsetVariable(variable);
      const text = `${message}, and channel ${name} needs it`;
      // The setting itself is often left to its default, and stands nowhere in the file.
      found.push({
        ...{ severity: 'warning', path: [...path, 'type'], message: text },
        hint: `${hint}, or \`gatehouse auth set-key ${name}\``,
      });
    }
    try {
      refuseSharedTokens(entries.slice(0, at + 1), new Secrets(env).secret);
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      found.push({ severity: 'error', path, message: error.message, hint: error.hint });
      break;
    }
  }
  return found;
}

/** A password is not read where a login of OAuth takes its place. */
function neededBy(settings: unknown): readonly string[] {
  return valueAt(settings, ['oauth']) === undefined ? [...ALWAYS_READ, 'password_env'] : ALWAYS_READ;
}
