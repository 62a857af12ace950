// Runs the scenarios. With --again, the files of which a test failed run once more, alone,
// and what they tell then counts: a browser that waits for two busy cores fails by time.
import { readdirSync, rmSync } from 'node:fs'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

const folder = new URL('scenarios/', import.meta.url).pathname
const all = readdirSync(folder).filter(f => f.endsWith('.test.mjs')).sort().map(f => folder + f)

/** Resolves to the files of which a test failed. */
async function failing(files, concurrency) {
  const failed = new Set()
  const tests = run({ files, concurrency })
  tests.on('test:fail', ({ file }) => failed.add(file))
  const told = tests.compose(new spec())
  told.pipe(process.stdout)
  await new Promise((resolve, reject) => told.on('end', resolve).on('error', reject))
  return [...failed]
}

rmSync(new URL('../.calls', import.meta.url), { recursive: true, force: true })
let failed = await failing(all, 2)
if (failed.length && process.argv.includes('--again')) {
  console.error(`these failed, and run again:\n  ${failed.join('\n  ')}`)
  failed = await failing(failed, 1)
}
if (failed.length) process.exitCode = 1
else await import('./covered.mjs')
