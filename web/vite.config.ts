import optimizeLocales from '@react-aria/optimize-locales-plugin'
import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig, type Plugin } from 'vite'

/** Names each package that reaches the browser, with its licence: 'make notices' reads it. */
const notices: Plugin = {
  name: 'notices',
  generateBundle(_, bundle) {
    const packages = new Set<string>()
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== 'chunk') continue
      for (const id of chunk.moduleIds) {
        const at = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)
        if (at) packages.add(at[0].replace(/^\0/, ''))
      }
    }
    const texts = [...packages].map(dir => {
      const { name, version, license } = JSON.parse(readFileSync(`${dir}/package.json`, 'utf8'))
      if (!['MIT', 'ISC', 'Apache-2.0', 'BSD-3-Clause', '0BSD'].includes(license)) throw new Error(`${name}: nobody has looked at the licence ${license}`)
      const files = readdirSync(dir).filter(f => /^(licen[cs]e|notice)/i.test(f)).sort()
      if (files.length === 0) throw new Error(`${name} has no licence file`)
      return `${name} ${version}: ${license}\n\n${files.map(f => readFileSync(`${dir}/${f}`, 'utf8').trim()).join('\n\n')}\n`
    })
    this.emitFile({ type: 'asset', fileName: 'third-party.txt', source: texts.sort().join('\n' + '-'.repeat(80) + '\n') })
  },
}

// A library's chunk changes when the library does, and not with every screen.
const vendors = [
  { name: 'react', test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/, priority: 3 },
  { name: 'tanstack', test: /node_modules[\\/]@tanstack[\\/]/, priority: 2 },
  { name: 'aria', test: /node_modules[\\/]/, priority: 1 },
]

export default defineConfig({
  base: '/dashboard/',
  plugins: [{ ...optimizeLocales.vite({ locales: ['en-US'] }), enforce: 'pre' }, notices],
  build: {
    target: ['chrome125', 'firefox128', 'safari18'],
    assetsInlineLimit: 0, // the policy lets no page make scripts or styles of data
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { moduleLevelDirective: false }, // "use client" means nothing here
      output: {
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: 'assets/[name]-[hash].js',
        assetFileNames: 'assets/[name]-[hash][extname]',
        codeSplitting: { groups: vendors },
      },
    },
  },
})
