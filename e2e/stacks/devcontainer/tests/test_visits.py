import getpass
import unittest

from visits import Visits


class VisitsTest(unittest.TestCase):
    def setUp(self):
        self.visits = Visits()
        self.addCleanup(self.visits.close)

    def test_each_visit_counts(self):
        first = self.visits.add("home")
        self.assertEqual(self.visits.add("home"), first + 1)

    def test_runs_as_the_user_of_the_container(self):
        self.assertEqual(getpass.getuser(), "dev")
