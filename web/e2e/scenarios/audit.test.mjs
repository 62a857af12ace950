import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { accessible, asOwner } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

const base = '/dashboard/orgs/acme/audit'
const lines = async download => readFileSync(await download.path(), 'utf8').trim().split('\n').map(l => JSON.parse(l))

test('29 a link to an event, and the export of a filter', async t => {
  const h = await host(t)
  await world(h)
  const grants = Array.from({ length: 40 }, (_, i) => ({ subject: `user:p${i}`, pattern: 'docs.bills.read' }))
  await h.owner.api('POST', '/orgs/acme/org/grants/bulk', { grants })
  await h.owner.api('POST', '/orgs/acme/org/grants/bulk', { grants: grants.slice(0, 2).map(g => ({ ...g, pattern: 'docs.files.read' })) })
  await h.grant({ subject: 'user:zoe', roleId: 'reader', scope: '*' })
  const { page, context } = await asOwner(t, h)
  await page.goto(base)
  const grid = page.getByRole('grid', { name: 'Audit' })
  const rows = grid.locator('.body [role=row]')
  await rows.first().waitFor()
  // the newest is the first; it tells whom it concerns
  assert.match((await rows.first().innerText()).replace(/\s+/g, ' '), /^grant\.create zoe role reader local:root /)
  assert.match((await rows.nth(1).innerText()).replace(/\s+/g, ' '), /^grant\.create_bulk 2 rows /)
  assert.match((await rows.nth(2).innerText()).replace(/\s+/g, ' '), /^grant\.create_bulk many rows /) // its detail is left out
  await page.getByLabel('Subject').fill('user:zoe')
  await page.waitForURL('**/audit?subject=user%3Azoe')
  await page.waitForFunction(() => document.querySelectorAll('.grid .body [role=row]').length === 1)
  await rows.first().click()
  const one = page.getByRole('complementary', { name: 'Event' })
  await one.getByText('grant.create', { exact: true }).waitFor()
  await one.locator('summary').click()
  await accessible(page, 'an event')
  assert.match(await one.locator('pre').innerText(), /"action": "grant\.create"/)
  await one.getByRole('button', { name: 'Copy link' }).click()
  const link = await page.evaluate(() => navigator.clipboard.readText())
  // Where the list does not have the event, the link does.
  const other = await context.newPage()
  await other.goto(link.replace('subject=user%3Azoe', 'subject=user%3Anobody'))
  await other.getByText('Nothing matches the filter').waitFor()
  const told = other.getByRole('complementary', { name: 'Event' })
  await told.getByText('user:zoe').first().waitFor()
  await other.close()
  // Long details are read when somebody wants them.
  await page.goto(base + '?action=grant.*&subject=user%3Ap7')
  await rows.first().waitFor()
  const many = (await h.owner.api('GET', '/orgs/acme/org/audit?subject=user:p7')).events.find(e => e.detailBytes)
  assert.ok(many, 'no event has long details')
  await rows.filter({ hasText: many.action }).first().click()
  await one.getByRole('button', { name: 'Read them' }).click()
  await one.getByText('user:p7', { exact: true }).first().waitFor()
  // What is exported is the filter's, oldest first, and says that it is whole.
  await page.goto(base + '?action=grant.*')
  await rows.first().waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export this' }).click()])
  assert.equal(download.suggestedFilename(), 'audit-acme-org.ndjson')
  const events = await lines(download)
  const last = events.pop()
  assert.deepEqual(last, { end: true, count: events.length })
  assert.ok(events.length > 0 && events.every(e => e.action.startsWith('grant.')))
  assert.deepEqual(events.map(e => e.at), events.map(e => e.at).toSorted((a, b) => a - b))
})

test('the logs of the service and of an application, and pages backwards', async t => {
  const h = await host(t)
  await world(h)
  for (let i = 0; i < 230; i++) await h.grant({ subject: 'user:n' + i, pattern: 'docs.bills.read' })
  const { page } = await asOwner(t, h)
  const grid = page.getByRole('grid', { name: 'Audit' })
  const one = page.getByRole('complementary', { name: 'Event' })
  for (const [log, name, path] of [['_account', 'Seats and service', 'audit'], ['docs', 'Documents', 'applications/docs/audit']]) {
    await page.goto(base)
    await page.getByLabel('Log').selectOption({ label: name })
    await page.waitForURL('**/audit?log=' + log)
    const [newest] = (await h.owner.api('GET', `/orgs/acme/${path}?limit=1`)).events
    await grid.getByText(newest.action).first().waitFor()
    await page.goto(`${base}?log=${log}&actor=nobody&event=${newest.at}.${newest.id}`)
    await one.getByText(newest.action).first().waitFor()
    await accessible(page, 'an event of ' + log)
  }
  // End counts before the first page is there.
  let pressed
  const held = new Promise(resolve => (pressed = resolve))
  await page.route(/org\/audit\?/, route => held.then(() => route.continue()))
  await page.goto(base)
  await grid.focus()
  await grid.press('End')
  pressed()
  const all = []
  for (let cursor = ''; cursor !== null; ) {
    const told = await h.owner.api('GET', '/orgs/acme/org/audit?mode=export&limit=1000' + (cursor && '&cursor=' + encodeURIComponent(cursor)))
    all.push(...told.events)
    cursor = told.nextCursor
  }
  await page.getByText(`${all.length} rows`).waitFor()
  await grid.press('End')
  await grid.locator('.body [role=row]').last().click() // the oldest is the last
  await one.getByText(all[0].target, { exact: true }).first().waitFor()
})

test('an export that is cut is called cut', async t => {
  const h = await host(t)
  await world(h)
  for (let i = 0; i < 1010; i++) await h.grant({ subject: 'user:n' + i, pattern: 'docs.bills.read' })
  const { page } = await asOwner(t, h, { quiet: [/Failed to load resource/] })
  await page.goto(base)
  await page.getByRole('grid', { name: 'Audit' }).locator('.body [role=row]').first().waitFor()
  await page.route(/mode=export.*cursor=/, route => route.abort('connectionreset'))
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export this' }).click()])
  assert.equal(download.suggestedFilename(), 'audit-acme-org-cut.ndjson')
  const events = await lines(download)
  assert.equal(events.length, 1000)
  assert.ok(!events.some(e => e.end))
  await page.getByText('The file is cut: it has 1,000 events').waitFor()
  await accessible(page, 'a cut export')
})
