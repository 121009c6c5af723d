import '@troupe/kernel'
