printf 'J\374rgen\r\nBj\366rn\r\n' > names/b.txt
printf 'Price: 5 \200\nZo\353\n' > names/c.txt
