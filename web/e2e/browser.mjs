// Chromium, and what every scenario holds it to: no error on the console, no violation of
// the policy, and nothing that axe finds.
import { after } from 'node:test'
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const kept = new URL('../.calls/', import.meta.url).pathname // for covered.mjs
const asking = new WeakMap() // the calls of a page that are not answered yet
let launched

async function browser() {
  launched ??= await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  return launched
}
after(() => launched?.close())

// The browser tells of each refusal of the API on its console. Those are answers, which
// scenarios judge by what the screen makes of them.
const answered = /^Failed to load resource: the server responded with a status of (4\d\d|501)/

/** Somebody's browser at a host: pages in it share cookies. */
export async function visit(t, h, { width = 1280, height = 800, scheme = 'light', axed = true, quiet = [] } = {}) {
  const context = await (await browser()).newContext({ viewport: { width, height }, colorScheme: scheme, locale: 'en-GB', timezoneId: 'UTC', baseURL: h.base })
  context.setDefaultTimeout(15_000)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const problems = []
  const calls = []
  const all = new Set()
  if (axed) await context.addInitScript({ content: axe })
  await context.addInitScript(() => document.addEventListener('securitypolicyviolation', e => console.error('policy:', e.violatedDirective, e.blockedURI, e.sample)))
  context.on('page', page => {
    page.on('console', m => {
      if (m.type() !== 'error' && m.type() !== 'warning') return
      if (answered.test(m.text()) && m.location().url.includes('/api/v1/')) return
      if (quiet.some(q => q.test(m.text()))) return
      problems.push(`console ${m.type()}: ${m.text()} at ${page.url()}`)
    })
    page.on('pageerror', e => problems.push(`error: ${e.stack ?? e.message}`))
    const open = new Set()
    asking.set(page, open)
    page.on('request', r => {
      const at = new URL(r.url())
      if (at.origin !== h.base || !at.pathname.startsWith('/api/v1/')) return
      const call = `${r.method()} ${at.pathname.slice(7)}`
      calls.push(call)
      all.add(call)
      if (!call.endsWith('/changes')) open.add(r) // that one stays open
    })
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, r => open.delete(r))
  })
  const page = await context.newPage()
  h.visitors.push(async () => {
    await context.close()
    mkdirSync(kept, { recursive: true })
    appendFileSync(`${kept}${process.pid}`, [...all].join('\n') + '\n')
  })
  t.after(() => assert.deepEqual(problems, []))
  return { page, context, calls }
}

export async function signIn(page, h, org = 'acme', user = 'owner', secret = h.secret) {
  if (!page.url().includes('/sign-in')) await page.goto('/dashboard/sign-in')
  await page.getByLabel('Organization').last().fill(org)
  await page.getByLabel('User id').fill(user)
  await page.getByLabel('Bootstrap secret').fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** A browser in which the owner of acme has signed in. */
export async function asOwner(t, h, how) {
  const at = await visit(t, h, how)
  await signIn(at.page, h)
  await at.page.waitForURL('**/dashboard/orgs/acme')
  return at
}

/** Holds the page as it is now to the rules of WCAG 2.2 AA that a program can judge. */
export async function accessible(page, what) {
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
    return violations.map(v => `${v.id}: ${v.nodes.map(n => `${n.target.join(' ')} – ${n.failureSummary}`).slice(0, 3).join('; ')}`)
  })
  assert.deepEqual(found, [], what)
}

/** Waits until a page has had no call under way for ms. */
export async function idle(page, ms = 250) {
  for (let since = Date.now(); Date.now() - since < ms; ) {
    await page.waitForTimeout(50)
    if (asking.get(page).size) since = Date.now()
  }
}

/** Fills a box that suggests, and leaves it: what is around suggestions that are open has no role. */
export async function fill(box, value) {
  await box.fill(value)
  await box.press('Tab')
}

/** The text of a page as a reader sees it. */
export const seen = page => page.locator('body').innerText()
