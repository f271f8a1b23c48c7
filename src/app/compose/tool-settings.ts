import { join } from 'node:path';
import type { ToolSettings } from '../../core/tool-settings.ts';
import { openToolSettings } from '../../tools/tool-settings.ts';
import type { DaemonOptions } from './options.ts';

const opened = new WeakMap<DaemonOptions, ToolSettings>();

/** One for the daemon: the tool and the command change the same settings. */
export function toolSettingsOf(options: DaemonOptions): ToolSettings {
  const settings = opened.get(options) ?? openToolSettings(join(options.dataDir, 'tool_config.json'), options.logger);
  opened.set(options, settings);
  return settings;
}
