import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { asOwner, visit } from '../browser.mjs'
import { host } from '../hosts.mjs'

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

// The figures of a quiet machine are in docs/dashboard.md. Tests share theirs with others, so
// they fail at three times what is promised.
const generous = 3
const rounds = 7
const median = list => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]

test('the first paint of a browser that has nothing yet', { timeout: 120_000 }, async t => {
  const h = await host(t)
  const times = []
  for (let i = 0; i < rounds; i++) {
    const { page, context } = await visit(t, h, { axed: false })
    await page.goto('/dashboard/')
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    times.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime))
    await context.clearCookies()
  }
  t.diagnostic(`median ${Math.round(median(times))} ms of ${times.map(Math.round).join(', ')}`)
  assert.ok(median(times) <= 600 * generous, `${median(times)} ms`)
})

test('a thousand rows after their answer', { timeout: 120_000 }, async t => {
  const h = await host(t)
  await h.local('createGrants', { inputs: Array.from({ length: 1200 }, (_, n) => ({ subject: `user:u_${n}`, pattern: 'docs.bills.read', scope: '*' })), provenance: { kind: 'admin', actorUserId: 'test' } })
  const { page, context } = await asOwner(t, h, { axed: false })
  await context.addInitScript(() => {
    globalThis.tasks = []
    new PerformanceObserver(list => globalThis.tasks.push(...list.getEntries().map(e => e.duration))).observe({ type: 'longtask', buffered: true })
    new MutationObserver((_, o) => {
      if (!document.querySelector('[data-grid] .body [role=row]')) return
      o.disconnect()
      requestAnimationFrame(() => setTimeout(() => (globalThis.painted = performance.now()))) // after the frame that has them
    }).observe(document, { childList: true, subtree: true })
  })
  const times = []
  const tasks = []
  for (let i = 0; i < rounds; i++) {
    await page.goto('about:blank')
    await page.goto('/dashboard/orgs/acme/grants')
    await page.getByText(/1,000 read of 1,20\d/).waitFor()
    await page.waitForFunction(() => globalThis.painted)
    const [took, longest] = await page.evaluate(() => {
      const answered = performance.getEntriesByType('resource').find(e => /\/org\/grants\?.*limit=1000/.test(e.name)).responseEnd
      return [globalThis.painted - answered, Math.max(0, ...globalThis.tasks)]
    })
    times.push(took)
    tasks.push(longest)
  }
  t.diagnostic(`median ${Math.round(median(times))} ms of ${times.map(Math.round).join(', ')}; longest task ${Math.round(median(tasks))} ms`)
  assert.ok(median(times) <= 300 * generous, `${median(times)} ms`)
  assert.ok(median(tasks) <= 200 * generous, `a task of ${median(tasks)} ms`)
})
