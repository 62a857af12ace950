import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { test } from 'node:test'
import { accessible, asOwner } from '../browser.mjs'
import { host, requestable } from '../hosts.mjs'
import { screens, settled, shown } from '../screens.mjs'

const most = 8 // calls before the reader asks for more
const shots = process.env.WEB_SHOTS // a folder, to look at them
const only = process.env.WEB_SCREENS?.split(',') // some of them

for (const [name, how] of Object.entries({
  light: { width: 1280 }, dark: { width: 1280, scheme: 'dark' }, narrow: { width: 320, height: 720 }, 'narrow-dark': { width: 320, height: 720, scheme: 'dark' },
})) {
  test(`every screen, ${name}`, { timeout: 600_000 }, async t => {
    const h = await host(t, { audit: true })
    const at = await shown(h)
    const { page, calls } = await asOwner(t, h, how)
    if (shots) mkdirSync(shots, { recursive: true })
    for (const screen of Object.keys(screens)) {
      if (only && !only.includes(screen)) continue
      await page.goto('about:blank') // what the screen before asked is over
      calls.length = 0
      await page.goto(at(screen))
      await settled(page, 700) // a call that comes late counts
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
