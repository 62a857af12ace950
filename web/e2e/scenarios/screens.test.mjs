import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { accessible, asOwner } from '../browser.mjs'
import { host, requestable } from '../hosts.mjs'

const screens = {
  home: '', explain: '/explain', allowed: '/explain?user=ann&key=docs.files.edit&scope=docs.doc:plan', denied: '/explain?user=ben&key=docs.files.edit&scope=docs.doc:plan',
  revoked: '/explain?user=dan&key=docs.files.read&scope=docs.doc:plan', people: '/people', person: '/people/ann', keys: '/people/ann?tab=keys', memberships: '/people/ann?tab=groups',
  groups: '/groups', group: '/groups/staff', 'group-access': '/groups/company?tab=access', roles: '/roles', role: '/roles/office', 'role-grants': '/roles/editor?tab=grants',
  grants: '/grants', 'grants-app': '/grants?home=docs', 'grants-new': '/grants/new', revokes: '/revokes', 'revokes-app': '/revokes?home=docs', inbox: '/inbox', ask: '/ask', 'ask-role': '/ask?role=reader', 'ask-key': '/ask?pattern=docs.files.read&scope=docs.folder:team', requests: '/requests', 'requests-all': '/requests?list=all', request: '/requests/ID', audit: '/audit', 'audit-account': '/audit?log=_account', 'audit-app': '/audit?log=docs&action=grant.*', event: '/audit?event=EVENT',
  applications: '/applications', 'application-new': '/applications/new', application: '/applications/docs', 'application-unlink': '/applications/docs?act=unlink', 'application-access': '/applications/docs?tab=access', 'application-requests': '/applications/docs?tab=access&list=requests', 'application-catalog': '/applications/docs?tab=catalog', 'application-usage': '/applications/docs?tab=usage', 'application-mesh': '/applications/docs?tab=mesh', 'application-organization': '/applications/docs?tab=organization', lost: '/nowhere',
}
const most = 8 // calls before the reader asks for more
const shots = process.env.WEB_SHOTS // a folder, to look at them

for (const [name, how] of Object.entries({
  light: { width: 1280 }, dark: { width: 1280, scheme: 'dark' }, narrow: { width: 320, height: 720 }, 'narrow-dark': { width: 320, height: 720, scheme: 'dark' },
})) {
  test(`every screen, ${name}`, { timeout: 240_000 }, async t => {
    const h = await host(t)
    await requestable(h)
    const asked = await h.owner.api('POST', '/orgs/acme/requests', { roleId: 'reader', justification: { why: 'the audit of spring' } })
    await h.local('submitRequest', { input: { requesterUserId: 'zoe', roleId: 'reader', scope: 'docs.folder:team', justification: { why: 'to read the plan' } } })
    const [newest] = (await h.owner.api('GET', '/orgs/acme/org/audit?action=grant.create&limit=1')).events
    const { page, calls } = await asOwner(t, h, how)
    if (shots) mkdirSync(shots, { recursive: true })
    for (const [screen, path] of Object.entries(screens)) {
      await page.goto('about:blank') // what the screen before asked is over
      calls.length = 0
      await page.goto('/dashboard/orgs/acme' + path.replace('ID', asked.request.id).replace('EVENT', `${newest.at}.${newest.id}`))
      await page.locator('main').waitFor()
      await page.waitForFunction(() => !document.querySelector('.skeleton') && document.querySelector('main')?.innerText.trim())
      await page.waitForLoadState('networkidle', { timeout: 700 }).catch(() => {}) // the stream of changes stays open
      assert.ok(calls.filter(c => !c.endsWith('/changes')).length <= most, `${screen} asks ${calls.length} times: ${calls.join(', ')}`)
      await accessible(page, `${screen}, ${name}`)
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(overflow <= 0, `${screen}, ${name}: ${overflow} px too wide`)
      if (shots) await page.screenshot({ path: `${shots}/${screen}-${name}.png` })
    }
  })
}

test('a theme of forced colours keeps verdicts and focus apart', async t => {
  const h = await host(t)
  await requestable(h)
  const { page } = await asOwner(t, h)
  await page.emulateMedia({ forcedColors: 'active' })
  await page.goto('/dashboard/orgs/acme' + screens.denied)
  await page.getByRole('region', { name: 'Verdict' }).waitFor()
  assert.match(await page.getByRole('region', { name: 'Verdict' }).innerText(), /may not/) // in words, not by colour
  await accessible(page, 'forced colours')
})
