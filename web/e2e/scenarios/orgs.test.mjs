import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, signIn, visit } from '../browser.mjs'
import { host, owner } from '../hosts.mjs'
import { provider } from '../oidc.mjs'

test('6 two windows, two organizations, and a sign-out that all of them hear', async t => {
  const h = await host(t)
  await h.owner.api('POST', '/orgs', { id: 'beta', name: 'Beta', ownerUserId: owner })
  const { page, context } = await visit(t, h)
  await page.goto('/dashboard/')
  await signIn(page, h)
  await page.getByRole('heading', { name: 'Organizations' }).waitFor() // two: a choice
  await accessible(page, 'organizations')
  await page.getByRole('link', { name: 'Acme' }).click()
  await page.waitForURL('**/dashboard/orgs/acme')
  const other = await context.newPage()
  await other.goto('/dashboard/orgs/beta')
  await other.getByText('No application is linked').waitFor()
  await page.getByRole('heading', { name: 'Acme', level: 1 }).waitFor()
  await other.getByRole('button', { name: owner }).click()
  await other.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/dashboard/sign-in?returnTo=**')
  assert.equal(await page.getByText('Acme', { exact: true }).count(), 0)
})

test('7 the first organization', async t => {
  const h = await host(t, { empty: true })
  const { page } = await visit(t, h)
  await page.goto('/')
  await page.waitForURL('**/sign-in**')
  await signIn(page, h, '')
  await page.getByRole('heading', { name: 'Make the first organization' }).waitFor()
  await accessible(page, 'the first organization')
  await page.getByLabel('Name').fill('Acme Limited')
  await page.getByLabel('Id').fill('acme')
  await page.getByRole('button', { name: 'Make it' }).click()
  await page.waitForURL('**/dashboard/orgs/acme')
  await page.getByRole('heading', { name: 'Acme Limited' }).waitFor()
  const made = await h.signIn('acme', owner, h.secret)
  assert.equal((await made.api('GET', '/orgs/acme')).org.name, 'Acme Limited')
})

test('another organization is not there for who has no seat', async t => {
  const idp = await provider(t)
  const h = await host(t, { oidc: idp, keep: true })
  await h.owner.api('POST', '/orgs', { id: 'beta', name: 'Beta', ownerUserId: owner })
  await h.owner.api('POST', '/orgs/beta/seats', { userId: 'u_42', kind: 'admin' })
  const { page } = await visit(t, h)
  await page.goto('/dashboard/sign-in?org=beta')
  await page.getByRole('button', { name: 'Continue with single sign-on' }).click()
  await page.waitForURL('**/dashboard/orgs/beta')
  await page.goto('/dashboard/orgs/acme')
  await page.getByText('org_not_found').first().waitFor()
  assert.equal(await page.getByText('Acme', { exact: true }).count(), 0)
})
