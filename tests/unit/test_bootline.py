"""The kernel's command line with further words: truth worked out by hand."""

from deadbeat.settings.tuning_plan import merged


def test_words_come_after_what_is_there_and_before_what_is_for_the_first_process() -> None:
    line = merged(
        "BOOT_IMAGE=/vmlinuz initrd=/i root=/dev/sda1 ro quiet -- --verbose", ["a=1", "b"]
    )
    assert line.whole == "root=/dev/sda1 ro quiet a=1 b -- --verbose"
    assert (line.add, line.replaced, line.already) == (("a=1", "b"), (), ())


def test_a_word_of_the_same_name_goes_whatever_its_dashes() -> None:
    line = merged("isolcpus=1 skew-tick=0 rcu_nocbs=2-3 quiet", ["isolcpus=2-3", "skew_tick=1"])
    assert line.whole == "rcu_nocbs=2-3 quiet isolcpus=2-3 skew_tick=1"
    assert line.replaced == ("isolcpus=1", "skew-tick=0")


def test_what_is_there_already_stays_where_it_is() -> None:
    line = merged("nosmt quiet", ["nosmt", "nosmt"])
    assert (line.whole, line.add, line.already) == ("nosmt quiet", (), ("nosmt",))


def test_blanks_in_quotes_are_part_of_a_word() -> None:
    line = merged('dyndbg="file a.c +p" quiet\n', ["dyndbg=x"])
    assert line.whole == "quiet dyndbg=x"
    assert line.replaced == ('dyndbg="file a.c +p"',)
