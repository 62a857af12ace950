import optimizeLocales from '@react-aria/optimize-locales-plugin'
import { defineConfig } from 'vite'

// A library's chunk changes when the library does, and not with every screen.
const vendors = [
  { name: 'react', test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/, priority: 3 },
  { name: 'tanstack', test: /node_modules[\\/]@tanstack[\\/]/, priority: 2 },
  { name: 'aria', test: /node_modules[\\/]/, priority: 1 },
]

export default defineConfig({
  base: '/dashboard/',
  plugins: [{ ...optimizeLocales.vite({ locales: ['en-US'] }), enforce: 'pre' }],
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
