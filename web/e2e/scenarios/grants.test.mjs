import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

test('13 a grant after its review, and its end', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/grants/new?subject=user:zoe&role=reader&scope=docs.folder:team')
  await page.getByRole('button', { name: 'Review' }).click()
  const review = page.getByRole('region', { name: 'This will be done' })
  await review.waitFor()
  await accessible(page, 'review')
  const text = await review.innerText()
  assert.match(text, /role reader to zoe at docs\.folder:team/)
  assert.match(text, /1 principal gains \d+ answers?/)
  assert.equal((await h.owner.api('GET', '/orgs/acme/org/grants?subject=user:zoe&homes=all')).grants.length, 0, 'it is written before it was confirmed')
  await page.getByRole('button', { name: 'Give access' }).click()
  await page.getByRole('heading', { name: 'The grant is made' }).waitFor()
  const [made] = (await h.owner.api('GET', '/orgs/acme/org/grants?subject=user:zoe&homes=all')).grants
  assert.equal(made.roleId, 'reader')
  assert.equal(made.provenance.actorUserId, 'owner')
  await page.getByRole('link', { name: 'Show it' }).click()
  await page.getByRole('complementary', { name: 'Grant' }).waitFor()
  await accessible(page, 'one grant')
  await page.getByRole('button', { name: 'Take away…' }).click()
  await page.getByText(/1 principal loses \d+ answers?\./).waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/org/grants?subject=user:zoe&homes=all')).grants.length, 1, 'it is gone before it was confirmed')
  await page.getByRole('button', { name: 'Take away', exact: true }).click()
  await page.getByText('The grant is gone.').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/org/grants?subject=user:zoe&homes=all')).grants.length, 0)
  await page.getByText('Nothing matches the filter').waitFor()
})

test('15 many at once: all of them or none', async t => {
  const h = await host(t)
  await world(h)
  for (const user of ['ada', 'bob', 'cyd']) await h.grant({ subject: 'user:' + user, pattern: 'docs.bills.read', scope: '*' })
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/grants')
  const grid = page.getByRole('grid', { name: 'Grants' })
  const choose = who => grid.getByRole('row').filter({ hasText: who }).locator('.ticked').click()
  for (const who of ['ada', 'bob', 'cyd']) await choose(who)
  await page.getByRole('button', { name: 'Copy for authz apply' }).click()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^name: .*\ngrants:\n( {2}- \{ subject: "user:\w{3}", pattern: "docs\.bills\.read", scope: "\*" \}\n){3}$/)
  await page.getByRole('button', { name: 'Take away…' }).click()
  const taking = page.getByRole('complementary', { name: 'Take grants away' })
  await taking.getByText('3 principals lose 3 answers.').waitFor()
  await accessible(page, 'taking away')
  const left = () => h.owner.api('GET', '/orgs/acme/org/grants').then(a => a.grants.filter(g => g.pattern === 'docs.bills.read'))
  const gone = (await left()).find(g => g.subject === 'user:bob')
  await h.owner.api('DELETE', '/orgs/acme/org/grants/' + gone.id) // somebody was faster with one of them
  await taking.getByRole('button', { name: 'Take away', exact: true }).click()
  await taking.getByRole('alert').getByText('not_found').waitFor()
  assert.equal((await left()).length, 2, 'some are gone and some are not')
  await taking.getByRole('button', { name: 'Cancel' }).click()
  await page.reload()
  for (const who of ['ada', 'cyd']) await choose(who)
  await page.getByRole('button', { name: 'Take away…' }).click()
  await taking.getByText('2 principals lose 2 answers.').waitFor()
  await taking.getByRole('button', { name: 'Take away', exact: true }).click()
  await page.getByText('2 grants are gone.').waitFor()
  assert.equal((await left()).length, 0)
})

test('14 a form sent twice is one grant', async t => {
  const h = await host(t)
  await world(h)
  const { page, context } = await asOwner(t, h, { quiet: [/ERR_CONNECTION_RESET/] })
  await page.goto('/dashboard/orgs/acme/grants/new?subject=user:zoe&pattern=docs.bills.read')
  await page.getByRole('button', { name: 'Review' }).click()
  // The answer to the first is lost on its way; the second is the same form.
  let lost = 0
  await context.route('**/api/v1/orgs/acme/org/grants', async route => {
    if (route.request().method() !== 'POST' || lost++) return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.getByRole('button', { name: 'Give access' }).click()
  await page.getByText('Nobody knows whether it was done').waitFor()
  await page.getByRole('button', { name: 'Give access' }).click()
  await page.getByRole('heading', { name: 'The grant is made' }).waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/org/grants?subject=user:zoe')).grants.length, 1)
})

test('what the host would refuse is told before anything is written', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/grants/new?subject=group:staff&pattern=docs.files.nothing')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('alert').waitFor() // the plan refuses what no catalog has
  assert.equal(await page.getByRole('region', { name: 'This will be done' }).count(), 0)
})

const many = 100_000

test('16 a hundred thousand grants by keyboard', { timeout: 180_000 }, async t => {
  const h = await host(t)
  const per = 2000
  for (let i = 0; i < many; i += per) {
    await h.local('createGrants', { inputs: Array.from({ length: per }, (_, n) => ({ subject: `user:u_${i + n}`, pattern: 'docs.bills.read', scope: '*' })), provenance: { kind: 'admin', actorUserId: 'test' } })
  }
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/grants')
  const grid = page.getByRole('grid', { name: 'Grants' })
  await grid.waitFor()
  await page.getByText('read of 100,0').waitFor()
  await page.keyboard.press('/')
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Subject')
  await grid.focus()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('k')
  assert.equal(await grid.locator('.current').getAttribute('aria-rowindex'), '3')
  await page.keyboard.press('x')
  await page.getByText('1 chosen').waitFor()
  const from = Date.now()
  await page.keyboard.press('End')
  const last = grid.locator(`[aria-rowindex="${many + 2}"]`) // the owner's own grant is one more
  await last.waitFor({ timeout: 120_000 })
  t.diagnostic(`read to the end in ${Date.now() - from} ms`)
  const nodes = await page.evaluate(() => document.querySelectorAll('*').length)
  assert.ok(nodes < 900, `${nodes} nodes`)
  await page.keyboard.press('Enter')
  await page.getByRole('complementary', { name: 'Grant' }).waitFor()
  assert.match(page.url(), /open=/)
})
