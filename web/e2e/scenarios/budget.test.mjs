import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

const dist = new URL('../../dist/', import.meta.url).pathname
const kb = 1000
const size = name => gzipSync(readFileSync(dist + name), { level: 9 }).length

test('the sizes of the build', t => {
  const files = readdirSync(dist + 'assets').map(f => 'assets/' + f)
  const index = readFileSync(dist + 'index.html', 'utf8')
  const of = list => list.reduce((sum, f) => sum + size(f), 0)
  const scripts = files.filter(f => f.endsWith('.js'))
  const first = scripts.filter(f => index.includes(f))
  const signIn = scripts.filter(f => /\/(SignIn|Field)-/.test(f))
  const all = of(scripts)
  const begin = of([...first, ...signIn])
  t.diagnostic(`first screen ${Math.round(begin / kb)} KB, all scripts ${Math.round(all / kb)} KB, styles ${Math.round(of(files.filter(f => f.endsWith('.css'))) / kb)} KB`)
  assert.ok(signIn.length === 2, 'the chunks of the first screen have other names')
  assert.ok(begin <= 220 * kb, `the first screen: ${begin}`)
  for (const f of scripts.filter(f => !first.includes(f))) assert.ok(size(f) <= 25 * kb, `${f}: ${size(f)}`)
  assert.ok(of(files.filter(f => f.endsWith('.css'))) <= 15 * kb, 'styles')
  assert.ok(all <= 450 * kb, `all: ${all}`)
})
