import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner, signIn, visit } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

test('27 looking through somebody else, read-only, and back', async t => {
  const h = await host(t)
  await world(h)
  await h.grant({ subject: 'user:ann', pattern: 'authz_internal.access.read', scope: '*' })
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/people/ann')
  await page.getByRole('button', { name: 'View as…' }).click()
  await page.getByText('You see what ann may see.').waitFor()
  await accessible(page, 'a preview')
  await page.getByRole('link', { name: 'Grants', exact: true }).click()
  await page.getByRole('grid', { name: 'Grants' }).waitFor()
  await page.getByText('You see what ann may see.').waitFor() // on every screen
  const give = page.getByRole('button', { name: 'Give access' }) // not a link: it cannot be used
  await give.focus()
  await page.getByRole('tooltip').getByText('authz_internal.access.manage_grants').waitFor()
  await page.getByRole('button', { name: 'Leave the preview' }).click()
  await page.getByRole('link', { name: 'Give access' }).waitFor()
  assert.equal(await page.getByText('You see what').count(), 0)
})

test('own sessions, and an end to one of them', async t => {
  const h = await host(t)
  const { page } = await asOwner(t, h)
  const other = await visit(t, h)
  await other.page.goto('/dashboard/')
  await signIn(other.page, h)
  await other.page.waitForURL('**/dashboard/orgs/acme')
  await page.getByRole('button', { name: 'owner' }).click()
  await page.getByRole('menuitem', { name: 'My sessions' }).click()
  await page.getByText('this one').waitFor()
  await accessible(page, 'sessions')
  const mine = page.getByRole('listitem').filter({ hasText: 'Chrome' })
  assert.equal(await mine.count(), 2)
  await mine.getByRole('button', { name: 'End' }).click()
  await page.getByText('The session is ended.').waitFor()
  await other.page.waitForURL('**/dashboard/sign-in?returnTo=**')
  assert.equal(await mine.count(), 1)
})
