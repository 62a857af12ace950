import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { asOwner, visit } from '../browser.mjs'
import { host } from '../hosts.mjs'
import { cut, pseudo } from '../pseudo.mjs'
import { screens, settled, shown } from '../screens.mjs'

const shots = process.env.WEB_SHOTS
const only = process.env.WEB_SCREENS?.split(',') // some of them

test('36 texts that are 40 % longer and have accents: nothing is cut, no layout breaks', { timeout: 600_000 }, async t => {
  const speak = await pseudo(t)
  const h = await host(t, { audit: true })
  const at = await shown(h)
  if (shots) mkdirSync(shots, { recursive: true })
  const all = []
  for (const [name, how] of Object.entries({ wide: { width: 1280 }, narrow: { width: 320, height: 720 } })) {
    const { page, context } = await asOwner(t, h, { ...how, axed: false })
    await speak(context)
    for (const screen of Object.keys(screens)) {
      if (only && !only.includes(screen)) continue
      await page.goto(at(screen))
      await settled(page)
      assert.match(await page.locator('main').innerText(), /ö/, `${screen} speaks English`)
      all.push(...(await cut(page)).map(f => `${screen}, ${name}: ${f}`))
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (overflow > 0) all.push(`${screen}, ${name}: ${overflow} px too wide`)
      if (shots) await page.screenshot({ path: `${shots}/${screen}-pseudo-${name}.png` })
    }
  }
  assert.deepEqual(all, [])
})

test('36 from right to left: no layout breaks', { timeout: 600_000 }, async t => {
  const h = await host(t, { audit: true })
  const at = await shown(h)
  const all = []
  for (const [name, how] of Object.entries({ wide: { width: 1280 }, narrow: { width: 320, height: 720 } })) {
    const { page, context } = await asOwner(t, h, { ...how, axed: false })
    await context.addInitScript(() => document.addEventListener('DOMContentLoaded', () => (document.documentElement.dir = 'rtl')))
    for (const screen of Object.keys(screens)) {
      if (only && !only.includes(screen)) continue
      await page.goto(at(screen))
      await settled(page)
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).direction), 'rtl')
      const broken = await page.evaluate(() => {
        const out = []
        if (document.documentElement.scrollWidth > innerWidth) out.push(`${document.documentElement.scrollWidth - innerWidth} px too wide`)
        const main = document.querySelector('main').getBoundingClientRect()
        const side = document.querySelector('.side').getBoundingClientRect()
        if (side.width && side.left < main.right - 1) out.push('the navigation is not on the right')
        for (const el of document.querySelectorAll('main h1, main .card, main .button, main .input, main .tag, main [role=gridcell]')) {
          const b = el.getBoundingClientRect()
          if (el.checkVisibility() && b.width && !el.closest('.tabs, .scroll-x') && (b.left < main.left - 1 || b.right > main.right + 1)) out.push(`${el.className || el.tagName} lies outside: “${el.innerText.slice(0, 40)}”`)
        }
        return out
      })
      all.push(...broken.map(b => `${screen}, ${name}: ${b}`))
      if (shots) await page.screenshot({ path: `${shots}/${screen}-rtl-${name}.png` })
    }
  }
  assert.deepEqual(all, [])
})

test('36 the sign-in in the pseudo-language', async t => {
  const speak = await pseudo(t)
  const h = await host(t, { audit: true })
  for (const width of [1280, 320]) {
    const { page, context } = await visit(t, h, { width, axed: false })
    await speak(context)
    await page.goto('/dashboard/sign-in')
    await page.locator('form').waitFor()
    assert.deepEqual(await cut(page), [])
  }
})
