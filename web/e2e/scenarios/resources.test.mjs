import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

test('one resource: its chain with the rows on each step, and its removal', async t => {
  const h = await host(t)
  await world(h)
  await h.grant({ subject: 'user:zoe', roleId: 'reader', scope: 'docs.doc:plan' })
  await h.local('createRevoke', { input: { userId: 'ann', pattern: 'docs.files.edit', scope: 'docs.doc:plan' } })
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/resources')
  const list = page.getByRole('grid', { name: 'Resources' })
  await list.getByText('docs.doc:plan').click()
  await page.waitForURL('**/resources/docs.doc%3Aplan')
  const rows = scope => page.getByRole('list', { name: `Rows at ${scope}` })
  await rows('docs.doc:plan').getByText('zoe').waitFor()
  await rows('docs.doc:plan').getByText('ann').waitFor()
  await page.getByRole('button', { name: 'Rows at docs.folder:team' }).click()
  await rows('docs.folder:team').getByText('company').waitFor()
  await page.getByRole('button', { name: 'Rows at everywhere' }).click()
  await rows('everywhere').getByText('eve').waitFor()
  await accessible(page, 'a resource')

  await page.getByRole('button', { name: 'Remove the resource…' }).click()
  const review = page.getByRole('dialog')
  await review.getByText('1 grant and 1 revoke at exactly this scope').waitFor()
  await review.getByText(/1 principal loses 1 answer\..*1 principal gains 1 answer\./).waitFor()
  await accessible(page, 'the removal of a resource')
  const end = review.getByRole('button', { name: 'Remove the rows' })
  assert.equal(await end.getAttribute('aria-disabled'), 'true', 'the scope is not typed')
  await review.getByLabel('Type docs.doc:plan to confirm').fill('docs.doc:plan')
  await end.click()
  await page.getByText('1 grant and 1 revoke are gone.').waitFor()
  await page.getByText('Nothing is given or taken here.').waitFor()
  assert.equal((await h.owner.api('GET', '/orgs/acme/applications/docs/grants?scope=docs.doc:plan')).grants.length, 0)
  assert.equal((await h.owner.api('GET', '/orgs/acme/applications/docs/grants?scope=docs.folder:team')).grants.length, 4, 'rows of others are gone')
})

test('a scope of no application says so, and any other may be opened by its name', async t => {
  const h = await host(t)
  await world(h)
  const { page } = await asOwner(t, h, { quiet: [/status of 501/] }) // the chain of what was never recorded
  await page.goto('/dashboard/orgs/acme/resources?q=docs.doc:unheard')
  await page.getByRole('link', { name: 'Open docs.doc:unheard' }).click()
  await page.getByRole('alert').getByText('no ancestors for').waitFor() // the catalog says that documents lie in folders
  await page.getByText('Nothing is given or taken here.').waitFor()
  await page.goto('/dashboard/orgs/acme/resources/wiki.page:1')
  await page.getByText('No application has this type of scope').waitFor()
  await accessible(page, 'a scope of nobody')
})
