// Writes what is generated from the sources: config/schema.json, docs/commands.md, docs/doctor.md,
// docs/errors.md, docs/limits.md, and the tables of the channels' pages. Run after a change to the config
// schema, to a
// channel's descriptor or limits, or to the error codes; tests compare the files with what this would
// write.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { configJsonSchema, renderJsonSchema } from '../../config/json-schema.ts';
import { renderChannelPages } from './channels-doc.ts';
import { allChannelSettings } from './commands/config.ts';
import { renderCommandsDoc } from './commands-doc.ts';
import { renderDoctorDoc } from './doctor-doc.ts';
import { renderErrorsDoc } from './errors-doc.ts';
import { renderLimitsDoc } from './limits-doc.ts';
import { processDeps } from './wiring.ts';

const deps = processDeps();
await mkdir(join(deps.packageRoot, 'docs'), { recursive: true });
const schema = renderJsonSchema(configJsonSchema(await allChannelSettings(deps)));
await writeFile(join(deps.packageRoot, 'config', 'schema.json'), schema);
await writeFile(join(deps.packageRoot, 'docs', 'commands.md'), renderCommandsDoc());
await writeFile(join(deps.packageRoot, 'docs', 'doctor.md'), renderDoctorDoc());
await writeFile(join(deps.packageRoot, 'docs', 'errors.md'), renderErrorsDoc());
await writeFile(join(deps.packageRoot, 'docs', 'limits.md'), await renderLimitsDoc());
for (const { path, text } of await renderChannelPages(deps.packageRoot)) await writeFile(join(deps.packageRoot, path), text);
